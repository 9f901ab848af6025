#include "cnntrain/metrics/run_log.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace cnntrain::metrics {
namespace {

constexpr std::chrono::milliseconds kProgressInterval(200);

constexpr const char* kLog = "log.txt";
constexpr const char* kTrainingCsv = "training.csv";
constexpr const char* kValidationCsv = "validation.csv";
constexpr std::string_view kCsvLineEnd = "\r\n";

/// "0:09:12"
std::string clock_text(double seconds) {
    const auto total = static_cast<long long>(std::llround(seconds));
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), "%lld:%02lld:%02lld", total / 3600, total / 60 % 60, total % 60);
    return text.data();
}

}  // namespace

std::string progress_text(const Progress& progress) {
    const double share = static_cast<double>(progress.iteration) / static_cast<double>(progress.iterations);
    std::array<char, 96> text{};
    std::snprintf(text.data(), text.size(), "[%5.1f%%] %lld/%lld %.*s, %.1f images/s", 100 * share,
                  static_cast<long long>(progress.iteration), static_cast<long long>(progress.iterations),
                  static_cast<int>(progress.unit.size()), progress.unit.data(), progress.images_per_second);
    std::string result = text.data();
    const auto done = static_cast<double>(progress.iteration - progress.first_iteration);
    if (done > 0) {
        const auto left = static_cast<double>(progress.iterations - progress.iteration);
        result += ", " + clock_text(progress.elapsed_seconds / done * left) + " left";
    }
    return result;
}

RunLog::RunLog(FileSystem& files, std::ostream& console, RunLogSettings settings)
    : files_(files), console_(console), settings_(std::move(settings)) {
    if (!settings_.folder.empty() && !settings_.folder.ends_with('/')) settings_.folder += '/';
}

RunLog::~RunLog() {
    erase_progress();
}

void RunLog::line(std::string_view text) {
    console_line(text);
    if (!settings_.folder.empty()) files_.append(settings_.folder + kLog, std::string(text) + "\n");
}

void RunLog::console_line(std::string_view text) {
    erase_progress();
    // Flushed, so that a pipe or a file shows it at once.
    console_ << text << std::endl;
}

void RunLog::training(const TrainingRow& row) {
    line(printed(row));
    append_csv(kTrainingCsv, record(row));
    pass_on(record(row));
}

void RunLog::validation(const ValidationRow& row) {
    line(printed(row));
    append_csv(kValidationCsv, record(row));
    pass_on(record(row));
}

void RunLog::inference(const InferenceRow& row) {
    console_line(printed(row.latencies));
    line(printed(row));
    append_csv(kValidationCsv, record(row));
    pass_on(record(row));
}

void RunLog::add_sink(std::unique_ptr<Sink> sink) {
    sinks_.push_back(std::move(sink));
}

void RunLog::nans(const NanRow& row) {
    pass_on(record(row));
}

void RunLog::status(std::string_view key, std::string_view value) {
    for (const auto& sink : sinks_)
        sink->status(key, value);
}

void RunLog::progress(const Progress& progress) {
    if (!settings_.terminal) return;
    const auto now = std::chrono::steady_clock::now();
    if (progress_shown_ && now - progress_time_ < kProgressInterval) return;
    progress_time_ = now;
    std::string text = progress_text(progress);
    // A line that wraps could not be erased.
    const auto width = static_cast<std::size_t>(std::max(settings_.terminal_width - 1, 0));
    if (text.size() > width) text.resize(width);
    erase_progress();
    console_ << text << std::flush;
    progress_shown_ = true;
    progress_length_ = text.size();
}

bool RunLog::has_validation(std::string_view name) const {
    const std::string path = settings_.folder + kValidationCsv;
    if (settings_.folder.empty() || !files_.exists(path)) return false;
    const std::string text = files_.read_text(path);
    return text.find("\n" + std::string(name) + ",") != std::string::npos;
}

void RunLog::erase_progress() {
    if (!progress_shown_) return;
    console_ << '\r' << std::string(progress_length_, ' ') << '\r' << std::flush;
    progress_shown_ = false;
}

void RunLog::append_csv(const std::string& name, const Record& record) {
    if (settings_.folder.empty()) return;
    const std::string path = settings_.folder + name;
    std::string text;
    if (!files_.exists(path)) text.append(csv_header(record)).append(kCsvLineEnd);
    files_.append(path, text.append(csv_row(record)).append(kCsvLineEnd));
}

void RunLog::pass_on(const Record& record) {
    for (const auto& sink : sinks_)
        sink->add(record);
}

int terminal_width(int descriptor) {
    winsize size{};
    if (::isatty(descriptor) == 0) return 0;
    if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
    return size.ws_col;
}

}  // namespace cnntrain::metrics
