#include "launch/benchmark/measure.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "launch/benchmark/spec.h"

namespace cnntrain::benchmark {
namespace {

/// The rank in the tag "[1,3]<stdout>:" that mpirun puts before a line; 0 without a tag.
int instance_of(std::string_view line) {
    const std::size_t comma = line.find(',');
    const std::size_t close = line.find("]<std");
    int rank = 0;
    if (!line.starts_with('[') || comma == std::string_view::npos || close == std::string_view::npos || close < comma)
        return 0;
    std::from_chars(line.data() + comma + 1, line.data() + close, rank);
    return rank;
}

struct Match {
    std::string text;
    int instance = 0;
};

std::vector<Match> matches(const std::string& regexp, const Output& output) {
    const Pattern pattern(regexp);
    std::vector<Match> found;
    for (const std::string_view stream : {output.out, output.err}) {
        for (const std::string_view line : lines_of(stream)) {
            for (std::string& text : pattern.matches(line))
                found.push_back({std::move(text), instance_of(line)});
        }
    }
    return found;
}

/// Parses a number like Python's float(): surrounding blanks are ignored, "nan" and "inf" are numbers.
std::optional<double> number(std::string_view text) {
    text = trimmed(text, " \t\r");
    return as_number<double>(text.substr(text.starts_with('+') ? 1 : 0));
}

double mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The mean without the smallest `skip` values; for latencies, without the largest.
double trimmed_mean(const Metric& metric, std::vector<double> values) {
    std::ranges::sort(values);
    if (metric.name == "latency") std::ranges::reverse(values);
    values.erase(values.begin(), values.begin() + metric.skip);
    return mean(values);
}

double reduced(const Metric& metric, const std::vector<double>& values) {
    switch (metric.reduction) {
        case Reduction::mean:
            return trimmed_mean(metric, values);
        case Reduction::final:
            return values.back();
        case Reduction::min:
            return *std::ranges::min_element(values);
        case Reduction::value:
            return values.front();
    }
    return 0;
}

std::optional<double> mean_after_first(const std::vector<double>& values, const std::vector<Match>& found) {
    std::vector<int> seen;
    std::vector<double> later;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (std::ranges::find(seen, found[i].instance) == seen.end()) {
            seen.push_back(found[i].instance);
        } else {
            later.push_back(values[i]);
        }
    }
    if (later.empty()) return std::nullopt;
    return mean(later);
}

/// The literal words in a pattern, which a matching line must contain.
std::vector<std::string> literal_words(const std::string& regexp) {
    std::vector<std::string> words;
    std::string word;
    for (std::size_t i = 0; i <= regexp.size(); ++i) {
        const char c = i < regexp.size() ? regexp[i] : ' ';
        const bool escape = c == '\\';
        if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-') {
            word += c;
            continue;
        }
        if (word.size() > 2) words.push_back(word);
        word.clear();
        if (escape) ++i;
    }
    return words;
}

/// The line with most of the pattern's words, but at least half of them; "" if there is none.
std::string nearest_line(const std::string& regexp, const Output& output) {
    const std::vector<std::string> words = literal_words(regexp);
    if (words.empty()) return "";
    std::string_view best;
    auto most = static_cast<std::ptrdiff_t>(words.size() - 1) / 2;  // at least half, since any line may contain a few
    for (const std::string_view stream : {output.out, output.err}) {
        for (const std::string_view line : lines_of(stream)) {
            const auto hits = std::ranges::count_if(
                words, [&](const std::string& word) { return line.find(word) != std::string_view::npos; });
            if (hits <= most) continue;
            most = hits;
            best = line;
        }
    }
    constexpr std::size_t kShown = 300;
    return std::string(best.substr(0, kShown));
}

std::string nothing_found(const Metric& metric, const Output& output) {
    constexpr int kTail = 5;
    const std::string start = metric.name + ": nothing in the output matches " + metric.regexp;
    const std::string nearest = nearest_line(metric.regexp, output);
    if (!nearest.empty()) return start + "; nearest line: " + nearest;
    const std::string last = tail(output.out.empty() ? output.err : output.out, kTail);
    return start + (last.empty() ? "; there was no output" : "\n    last lines of the output:\n" + last);
}

/// Recursive descent parser for + - * / ** and parentheses.
class Calculator {
public:
    explicit Calculator(std::string_view text) : text_(text) {}

    double whole() {
        const double value = sum();
        if (peek() != '\0') fail();
        return value;
    }

private:
    [[noreturn]] void fail() const {
        throw Error(ErrorKind::data,
                    "'" + std::string(text_) + "' is no expression of finite numbers, + - * / ** and ( )");
    }
    char peek() {
        while (at_ < text_.size() && text_[at_] == ' ')
            ++at_;
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    bool take(std::string_view sign) {
        peek();
        if (!text_.substr(at_).starts_with(sign)) return false;
        at_ += sign.size();
        return true;
    }
    double sum() {
        double value = product();
        for (;;) {
            if (take("+")) {
                value += product();
            } else if (take("-")) {
                value -= product();
            } else {
                return value;
            }
        }
    }
    double product() {
        double value = sign();
        for (;;) {
            if (take("*")) {
                value *= sign();
            } else if (take("/")) {
                value /= sign();
            } else {
                return value;
            }
        }
    }
    /// All nesting goes through this function.
    double sign() {
        constexpr int kDeepest = 200;
        if (++depth_ > kDeepest) throw Error(ErrorKind::data, "the expression is nested too deep");
        const double value = signed_power();
        --depth_;
        return value;
    }
    double signed_power() {
        if (take("-")) return -sign();
        if (take("+")) return sign();
        return power();
    }
    double power() {
        const double base = atom();
        return take("**") ? std::pow(base, sign()) : base;
    }
    double atom() {
        if (take("(")) {
            const double value = sum();
            if (!take(")")) fail();
            return value;
        }
        peek();
        double value = 0;
        const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
        if (error != std::errc{} || !std::isfinite(value)) fail();
        at_ = static_cast<std::size_t>(end - text_.data());
        return value;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

/// Replaces {names} in the expression; replaced values are not expanded again.
std::string filled(std::string_view expression, const std::map<std::string, std::string>& values) {
    constexpr std::size_t kLongestName = 200;
    std::string text;
    while (!expression.empty()) {
        const std::size_t end =
            expression.front() == '{' ? expression.substr(0, kLongestName).find('}') : std::string_view::npos;
        const auto value =
            end == std::string_view::npos ? values.end() : values.find(std::string(expression.substr(1, end - 1)));
        if (value == values.end()) {
            text += expression.front();
            expression.remove_prefix(1);
        } else {
            text += "(" + value->second + ")";  // in parentheses, so that the square of -2 is 4
            expression.remove_prefix(end + 1);
        }
    }
    return text;
}

}  // namespace

Measured measure(const Metric& metric, const Output& output, double scale) {
    Measured result;
    const std::vector<Match> found = matches(metric.regexp, output);
    if (found.empty()) {
        result.failure = nothing_found(metric, output);
        return result;
    }
    for (const Match& match : found) {
        const std::optional<double> value = number(match.text);
        if (!value && match.text.ends_with("emulated")) {
            result.failure = metric.name + ": '" + match.text + "' is the rate of an emulator; no IPU ran";
            return result;
        }
        if (!value) {
            result.failure = metric.name + ": " + metric.regexp + " matched '" + match.text + "', which is no number";
            return result;
        }
        result.values.push_back(metric.name == "throughput" ? *value * scale : *value);
    }
    result.mean_after_first = mean_after_first(result.values, found);
    if (std::ranges::any_of(result.values, [](double value) { return std::isnan(value); })) {
        result.failure = metric.name + ": the output has a value that is not a number (nan)";
    } else if (std::cmp_less_equal(result.values.size(), metric.skip)) {
        result.failure = metric.name + ": " + std::to_string(result.values.size()) +
                         " values in the output, of which " + std::to_string(metric.skip) +
                         " are to be left out; the run was too short";
    } else {
        result.value = reduced(metric, result.values);
    }
    return result;
}

double arithmetic(std::string_view expression) {
    return Calculator(expression).whole();
}

Measured derive(const DerivedMetric& metric, const std::map<std::string, std::string>& values) {
    const std::string text = filled(metric.expression, values);
    Measured result;
    try {
        const double value = arithmetic(text);
        if (!std::isfinite(value))
            throw Error(ErrorKind::data, metric.expression + ", here " + text + ", is not a finite number");
        result.value = value;
        result.values = {value};
    } catch (const Error& error) {
        result.failure = metric.name + ": " + error.what();
    }
    return result;
}

std::optional<double> compile_seconds(const Output& output) {
    std::optional<double> longest;
    for (const Match& match : matches(R"(Compilation time: *([0-9.]+) *s)", output)) {
        const std::optional<double> value = number(match.text);
        if (value) longest = std::max(longest.value_or(0), *value);
    }
    return longest;
}

std::string pattern_mistake(const std::string& regexp) {
    try {
        static_cast<void>(Pattern(regexp));
        return "";
    } catch (const Error& error) {
        return error.what();
    }
}

std::string tail(std::string_view text, int count) {
    const std::vector<std::string_view> lines = lines_of(text);
    const std::size_t first = lines.size() - std::min(lines.size(), static_cast<std::size_t>(count));
    std::string result;
    constexpr std::size_t kLongest = 300;
    for (std::size_t i = first; i < lines.size(); ++i) {
        result += (result.empty() ? "    " : "\n    ") + std::string(lines[i].substr(0, kLongest));
        if (lines[i].size() > kLongest) result += " ...";
    }
    return result;
}

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
            {"status", enumerator_name(result.status)},
            {"reason", result.reason},
            {"log_paths", {{"out", result.out_path}, {"err", result.err_path}}}};
}

std::string dumped(const Json& json) {
    constexpr int kIndent = 2;
    return json.dump(kIndent, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// All fields are quoted, as in the original program's files.
std::string csv_line(const std::vector<std::string>& fields) {
    return joined(fields, ",", csv_quoted) + "\r\n";
}

std::string metric_text(const VariantResult& result, const std::string& metric) {
    const auto found = result.metrics.find(metric);
    return found == result.metrics.end() || !found->second.value ? "" : number_text(*found->second.value);
}

std::string_view status_word(Status status) {
    constexpr std::string_view kWords[] = {"PASSED", "FAILED", "SKIPPED"};
    return entry_of(kWords, status);
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
