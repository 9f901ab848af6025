// Extracts metrics from the output of a process.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/benchmark/spec.h"

namespace cnntrain::benchmark {

struct Measured {
    std::optional<double> value;             // the reduced value; empty: failed
    std::vector<double> values;              // all values found, in order
    std::optional<double> mean_after_first;  // mean without the first value of each instance
    std::string failure;                     // why there is no value, for the user
};

struct Output {
    std::string_view out;
    std::string_view err;
};

/// `scale`: factor applied to a metric named throughput. `metric.regexp` must be well-formed.
Measured measure(const Metric& metric, const Output& output, double scale);

/// The value of an expression of numbers, + - * / ** and parentheses. Throws Error(data) for anything else.
double arithmetic(std::string_view expression);

/// `values`: metrics and parameters by name. A non-finite result counts as a failure.
Measured derive(const DerivedMetric& metric, const std::map<std::string, std::string>& values);

/// The longest compile time that the programs report, in seconds.
std::optional<double> compile_seconds(const Output& output);

/// "" for a valid pattern (pattern.h) with exactly one group, otherwise a description of the mistake.
std::string pattern_mistake(const std::string& regexp);

/// The last `count` lines, indented.
std::string tail(std::string_view text, int count);

}  // namespace cnntrain::benchmark
