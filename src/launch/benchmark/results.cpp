#include "launch/benchmark/results.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cnntrain/base/text.h"

namespace cnntrain::benchmark {
namespace {

using Json = nlohmann::json;

Json optional_number(const std::optional<double>& value) {
    return value ? Json(*value) : Json();
}

/// {metric: {reduction: value}} with the reductions that the entry asks for.
Json reductions(const VariantResult& result) {
    Json all = Json::object();
    const auto add = [&](const std::string& metric, Reduction reduction) {
        const auto found = result.metrics.find(metric);
        if (found == result.metrics.end()) return;
        all[metric][std::string(name(reduction))] = optional_number(found->second.value);
    };
    for (const Metric& metric : result.entry->metrics)
        add(metric.name, metric.reduction);
    for (const DerivedMetric& metric : result.entry->derived)
        add(metric.name, metric.reduction);
    if (result.compile_seconds) all["total_compiling_time"]["value"] = *result.compile_seconds;
    return all;
}

Json record(const VariantResult& result) {
    constexpr std::array kStatus = {"passed", "failed", "skipped"};
    Json values = Json::object();
    Json later = Json::object();
    for (const auto& [metric, measured] : result.metrics) {
        values[metric] = measured.values;
        later[metric] = optional_number(measured.mean_after_first);
    }
    Json parameters = Json::object();
    for (const auto& [parameter, value] : result.variant)
        parameters[parameter] = value;
    Json environment = Json::object();
    for (const auto& [variable, value] : result.environment)
        environment[variable] = value;
    return {{"benchmark_path", result.entry->file},
            {"benchmark_name", result.entry->name},
            {"variant_name", result.name},
            {"params", parameters},
            {"command", result.command},
            {"env", environment},
            {"results", reductions(result)},
            {"values", values},
            {"mean_after_first", later},
            {"start_time", result.start_time},
            {"end_time", result.end_time},
            {"compilation_end_time", nullptr},
            {"test_duration", duration_text(result.seconds)},
            {"exitcode", result.exit_code},
            {"status", kStatus.at(static_cast<std::size_t>(result.status))},
            {"reason", result.reason},
            {"log_paths", {{"out", result.out_path}, {"err", result.err_path}}}};
}

std::string dumped(const Json& json) {
    constexpr int kIndent = 2;
    return json.dump(kIndent, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// All fields are quoted, as in the original program's files.
std::string csv_line(const std::vector<std::string>& fields) {
    std::string line;
    for (const std::string& field : fields)
        line += (line.empty() ? "" : ",") + csv_quoted(field);
    return line + "\r\n";
}

std::string metric_text(const VariantResult& result, const std::string& metric) {
    const auto found = result.metrics.find(metric);
    return found == result.metrics.end() || !found->second.value ? "" : number_text(*found->second.value);
}

std::string_view status_word(Status status) {
    switch (status) {
        case Status::passed:
            return "PASSED";
        case Status::failed:
            return "FAILED";
        case Status::skipped:
            return "SKIPPED";
    }
    return {};
}

/// A column of the CSV file between the fixed columns and the user's metrics.
std::string additional_field(const VariantResult& result, std::string_view column) {
    if (column == "test_duration") return duration_text(result.seconds);
    if (column == "result") return std::string(status_word(result.status));
    if (column == "cmd") return result.command;
    if (column == "env") return record(result)["env"].dump();
    return metric_text(result, std::string(column));  // the loss; git_commit_hash is unknown here and stays empty
}

constexpr std::array kAdditional = {"test_duration", "loss", "result", "cmd", "env", "git_commit_hash"};

/// Four significant digits exceed the agreement of repeated runs.
std::string rounded(double value) {
    return formatted(std::fabs(value) >= 1000 ? "%.0f" : "%.4g", value);
}

/// The entry's columns: parameters that it does not list, then its list; without a list, all metrics.
std::vector<Column> columns_of(const VariantResult& result) {
    std::vector<Column> wanted = result.entry->columns;
    if (wanted.empty()) {
        for (const Metric& metric : result.entry->metrics)
            wanted.push_back({metric.name, metric.name});
        for (const DerivedMetric& metric : result.entry->derived)
            wanted.push_back({metric.name, metric.name});
    }
    std::vector<Column> columns;
    for (const auto& [parameter, value] : result.variant) {
        if (std::ranges::find(wanted, parameter, &Column::source) == wanted.end())
            columns.push_back({parameter, parameter});
    }
    columns.insert(columns.end(), wanted.begin(), wanted.end());
    return columns;
}

std::string cell(const VariantResult& result, const Column& column) {
    for (const auto& [parameter, value] : result.variant) {
        if (parameter == column.source) return value;
    }
    const auto found = result.metrics.find(column.source);
    return found == result.metrics.end() || !found->second.value ? "-" : rounded(*found->second.value);
}

}  // namespace

std::string number_text(double value) {
    if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    return Json(value).dump();
}

std::string duration_text(double seconds) {
    constexpr long kMicroseconds = 1'000'000;
    constexpr long kMinute = 60;
    const long total = std::lround(seconds * kMicroseconds);
    const long whole = total / kMicroseconds;
    return formatted("%ld:%02ld:%02ld.%06ld", whole / kMinute / kMinute, whole / kMinute % kMinute, whole % kMinute,
                     total % kMicroseconds);
}

std::string results_json(const std::vector<VariantResult>& results) {
    Json all = Json::object();
    for (const VariantResult& result : results)
        all[result.entry->name].push_back(record(result));
    return dumped(all);
}

std::string variant_json(const VariantResult& result) {
    return dumped(record(result));
}

std::string results_csv(const std::vector<VariantResult>& results, bool additional,
                        const std::vector<std::string>& metrics) {
    std::vector<std::string> header = {"benchmark name", "Variant name", "throughput", "latency",
                                       "total_compiling_time"};
    if (additional) header.insert(header.end(), kAdditional.begin(), kAdditional.end());
    header.insert(header.end(), metrics.begin(), metrics.end());
    std::string text = csv_line(header);
    for (const VariantResult& result : results) {
        std::vector<std::string> row = {result.entry->name, result.name, metric_text(result, "throughput"),
                                        metric_text(result, "latency"),
                                        result.compile_seconds ? number_text(*result.compile_seconds) : ""};
        for (std::size_t i = 0; additional && i < kAdditional.size(); ++i)
            row.push_back(additional_field(result, kAdditional.at(i)));
        for (const std::string& metric : metrics)
            row.push_back(metric_text(result, metric));
        text += csv_line(row);
    }
    return text;
}

std::string results_xml(const std::vector<VariantResult>& results) {
    std::string text = "<testsuites><testsuite>";
    for (const VariantResult& result : results) {
        text += "<testcase name=\"" + xml_text(result.entry->name) + "\">";
        if (result.status == Status::failed) text += "<failure>" + xml_text(result.reason) + "</failure>";
        if (result.status == Status::skipped) text += "<skipped>" + xml_text(result.reason) + "</skipped>";
        text += "</testcase>";
    }
    return text + "</testsuite></testsuites>";
}

std::string tables(const std::vector<VariantResult>& results) {
    std::string text;
    for (std::size_t i = 0; i < results.size();) {
        const Entry* entry = results[i].entry;
        const std::vector<Column> columns = columns_of(results[i]);
        TextRows rows(1);
        for (const Column& column : columns)
            rows[0].push_back(column.label);
        rows[0].insert(rows[0].end(), {"time", "result"});
        for (; i < results.size() && results[i].entry == entry; ++i) {
            std::vector<std::string> row;
            row.reserve(rows[0].size());
            for (const Column& column : columns)
                row.push_back(cell(results[i], column));
            const std::string time = duration_text(results[i].seconds);
            row.push_back(time.substr(0, time.find('.')));
            row.emplace_back(status_word(results[i].status));
            rows.push_back(std::move(row));
        }
        text += entry->name + "\n" + indented(in_columns(rows), 2) + "\n";
    }
    return text;
}

std::string summary(const std::vector<VariantResult>& results) {
    std::string text = "=================== short test summary info ====================\n\n";
    std::array<int, 3> counts{};
    for (const VariantResult& result : results) {
        ++counts.at(static_cast<std::size_t>(result.status));
        text += std::string(status_word(result.status)) + " " + result.entry->name + "::" + result.name;
        if (result.status != Status::passed) text += " (" + result.reason + ")";
        text += "\n";
    }
    text += "\n================ " + std::to_string(counts[1]) + " failed, " + std::to_string(counts[0]) + " passed";
    if (counts[2] > 0) text += ", " + std::to_string(counts[2]) + " skipped";
    return text + " ===============\n";
}

}  // namespace cnntrain::benchmark
