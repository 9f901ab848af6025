#include "run/metrics/meters.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <sstream>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"

namespace cnntrain::metrics {
namespace {

double mean(double sum, std::int64_t count) {
    return count > 0 ? sum / static_cast<double>(count) : 0;
}

/// Words separated by spaces; doubles are written without loss.
void write_double(std::string& text, double value) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    text.append(" ").append(digits.data(), end);
}

void write_count(std::string& text, std::int64_t value) {
    text += " " + std::to_string(value);
}

template <typename T> T read_number(std::istringstream& in) {
    std::string word;
    in >> word;
    const auto value = as_number<T>(word);
    if (!value)
        throw Error(ErrorKind::data, "the meters saved in the checkpoint are damaged: '" + word + "' is not a number");
    return *value;
}

constexpr const char* kStateVersion = "v1";

}  // namespace

Meters::Meters(std::vector<Column> columns, double update_samples, std::int64_t window, std::int64_t step_increment)
    : columns_(std::move(columns)),
      outputs_(outputs_of(columns_)),
      update_samples_(update_samples),
      window_(static_cast<std::size_t>(window)),
      step_increment_(step_increment) {
    CNNTRAIN_CHECK(update_samples >= 1 && window >= 1, "meters need a batch and a window");
    begin_host_step();
}

void Meters::begin_host_step() {
    current_ = {};
    for (const std::string& output : outputs_)
        current_.outputs[output] = 0;
}

void Meters::add(const Sums& sums, std::int64_t samples, double seconds) {
    constexpr double kKept = 0.95;  // of the weight of an update, after another one
    const auto is_spoilt = [](const auto& item) { return !std::isfinite(item.second); };
    if (std::ranges::any_of(smooth_, is_spoilt)) {
        smooth_.clear();
        smooth_samples_ = 0;
    }
    for (auto& [output, sum] : current_.outputs) {
        const double more = sum_of(sums, output);
        sum += more;
        double& smooth = smooth_[output];
        smooth = kKept * smooth + more;
    }
    smooth_samples_ = kKept * smooth_samples_ + static_cast<double>(samples);
    current_.samples += samples;
    current_.seconds += seconds;
    ++timed_updates_;
}

void Meters::finish_host_step() {
    recent_.push_back(values_of(columns_, current_.outputs, current_.samples));
    if (recent_.size() > window_) recent_.pop_front();
    step_ += step_increment_;
    last_it_seconds_ = mean(current_.seconds, timed_updates_);
    if (!first_host_step_) {
        interval_seconds_ += current_.seconds;
        interval_updates_ += timed_updates_;
    }
    first_host_step_ = false;
    begin_host_step();
    timed_updates_ = 0;
}

TrainingRow Meters::log_row(const HostStepFacts& facts) {
    TrainingRow result =
        row(facts, interval_updates_ > 0 ? mean(interval_seconds_, interval_updates_) : last_it_seconds_);
    interval_seconds_ = 0;
    interval_updates_ = 0;
    return result;
}

TrainingRow Meters::host_step_row(const HostStepFacts& facts) const {
    return row(facts, last_it_seconds_);
}

TrainingRow Meters::row(const HostStepFacts& facts, double it_seconds) const {
    CNNTRAIN_CHECK(!recent_.empty(), "a log line before the first host step");
    TrainingRow row;
    row.step = step_;
    row.iteration = facts.iteration;
    row.epoch = facts.epoch;
    row.lr = facts.lr;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        double sum = 0;
        for (const std::vector<double>& one : recent_)
            sum += one[i];
        row.results.push_back({recent_.back()[i], mean(sum, static_cast<std::int64_t>(recent_.size()))});
    }
    row.it_time = it_seconds;
    row.samples_per_second = row.it_time > 0 ? update_samples_ / row.it_time : 0;
    row.total_time = facts.total_seconds;
    return row;
}

double Meters::recent_samples_per_second() const {
    const std::int64_t updates = interval_updates_ + timed_updates_;
    const double seconds = updates > 0 ? mean(interval_seconds_ + current_.seconds, updates) : last_it_seconds_;
    return seconds > 0 ? update_samples_ / seconds : 0;
}

std::vector<Reading> Meters::recent_readings() const {
    constexpr double kPercent = 100;
    std::vector<Reading> readings;
    if (smooth_.empty()) return readings;
    for (const Column& column : columns_) {
        if (column.label.empty()) continue;
        readings.push_back({column.label, value_of(column, smooth_, smooth_samples_), column.scale == kPercent});
    }
    return readings;
}

std::string Meters::state() const {
    std::string text = kStateVersion;
    write_count(text, step_);
    for (const std::string& output : outputs_)
        write_double(text, current_.outputs.at(output));
    write_count(text, current_.samples);
    write_count(text, static_cast<std::int64_t>(recent_.size()));
    for (const std::vector<double>& one : recent_) {
        for (const double value : one)
            write_double(text, value);
    }
    return text;
}

void Meters::restore(const std::string& state) {
    std::istringstream in(state);
    std::string version;
    in >> version;
    if (version != kStateVersion)
        throw Error(ErrorKind::data, "the meters saved in the checkpoint are of an unknown form: '" + version + "'");
    step_ = read_number<std::int64_t>(in);
    begin_host_step();
    for (const std::string& output : outputs_)
        current_.outputs[output] = read_number<double>(in);
    current_.samples = read_number<std::int64_t>(in);
    recent_.clear();
    for (auto count = read_number<std::int64_t>(in); count > 0; --count) {
        std::vector<double> values;
        for (std::size_t i = 0; i < columns_.size(); ++i)
            values.push_back(read_number<double>(in));
        recent_.push_back(std::move(values));
        if (recent_.size() > window_) recent_.pop_front();
    }
}

void add(Sums& sums, const Sums& more) {
    for (const auto& [output, sum] : more)
        sums[output] += sum;
}

std::vector<std::string> outputs_of(const std::vector<Column>& columns) {
    std::vector<std::string> outputs;
    const auto add = [&](const std::string& output) {
        if (output.empty() || std::ranges::find(outputs, output) != outputs.end()) return;
        outputs.push_back(output);
    };
    for (const Column& column : columns) {
        add(column.output);
        add(column.divisor);
    }
    return outputs;
}

double sum_of(const Sums& sums, const std::string& output) {
    const auto found = sums.find(output);
    CNNTRAIN_CHECK(found != sums.end(), "the graph has no output " + output + " to report");
    return found->second;
}

double value_of(const Column& column, const Sums& sums, double samples) {
    const double divisor = column.divisor.empty() ? samples : sum_of(sums, column.divisor);
    return divisor != 0 ? column.scale * sum_of(sums, column.output) / divisor : 0;
}

std::vector<double> values_of(const std::vector<Column>& columns, const Sums& sums, std::int64_t samples) {
    std::vector<double> values;
    for (const Column& column : columns)
        values.push_back(value_of(column, sums, static_cast<double>(samples)));
    return values;
}

}  // namespace cnntrain::metrics
