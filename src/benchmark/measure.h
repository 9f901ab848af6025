// Metrics from the output of a process.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmark/spec.h"

namespace cnntrain::benchmark {

struct Measured {
    std::optional<double> value;             // reduced; empty: failed
    std::vector<double> values;              // all that were found, in order
    std::optional<double> mean_after_first;  // without the first one of each instance
    std::string failure;                     // why there is no value: for the user
};

struct Output {
    std::string_view out;
    std::string_view err;
};

/// `scale`: factor of a metric called throughput. `metric.regexp` is well-formed.
Measured measure(const Metric& metric, const Output& output, double scale);

/// The value of an expression of numbers, + - * / ** and parentheses. Error(data) when it is none.
double arithmetic(std::string_view expression);

/// `values`: metrics and parameters by name. A result that is not finite is a failure.
Measured derive(const DerivedMetric& metric, const std::map<std::string, std::string>& values);

/// Largest of the programs' own compile times in seconds.
std::optional<double> compile_seconds(const Output& output);

/// "" when it is a pattern (pattern.h) with exactly one group, else what is wrong with it.
std::string pattern_mistake(const std::string& regexp);

/// The last `count` lines, indented.
std::string tail(std::string_view text, int count);

}  // namespace cnntrain::benchmark
