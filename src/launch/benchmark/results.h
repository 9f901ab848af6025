// Writes the results of variants as files, tables and summary.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launch/benchmark/measure.h"
#include "launch/benchmark/spec.h"

namespace cnntrain::benchmark {

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
