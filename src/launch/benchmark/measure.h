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

/// "" for a valid pattern (spec.h) with exactly one group, otherwise a description of the mistake.
std::string pattern_mistake(const std::string& regexp);

/// The last `count` lines, indented.
std::string tail(std::string_view text, int count);

// Writes the results of variants as files, tables and summary.

enum class Status { passed, failed, skipped };

struct VariantResult {
    const Entry* entry = nullptr;
    Variant variant;
    std::string name;
    Status status = Status::failed;
    std::string reason;  // reason of a failure or skip, one line
    int exit_code = 0;
    std::string command;
    std::vector<std::pair<std::string, std::string>> environment;  // variables added to the caller's environment
    std::map<std::string, Measured> metrics;
    std::optional<double> compile_seconds;
    std::string start_time;
    std::string end_time;
    double seconds = 0;
    std::string out_path;
    std::string err_path;
};

/// benchmark_results.json: {benchmark: [record, ...]}.
std::string results_json(const std::vector<VariantResult>& results);
/// One record, for the variant's own folder.
std::string variant_json(const VariantResult& result);
std::string results_csv(const std::vector<VariantResult>& results, bool additional,
                        const std::vector<std::string>& metrics);
std::string results_xml(const std::vector<VariantResult>& results);

/// One table per benchmark, one row per variant.
std::string tables(const std::vector<VariantResult>& results);
/// Lines PASSED, FAILED and SKIPPED between horizontal rules.
std::string summary(const std::vector<VariantResult>& results);

/// "12.0", "1.2e-07", "inf": the fewest digits that parse to the same number.
std::string number_text(double value);

/// Formats a duration as "0:01:02.345678".
std::string duration_text(double seconds);

}  // namespace cnntrain::benchmark
