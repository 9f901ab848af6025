#include "cnntrain/run/observer.h"

#include <unistd.h>

#include <atomic>
#include <cmath>
#include <utility>

#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"

namespace cnntrain::metrics {
namespace {

constexpr std::chrono::milliseconds kDrawInterval(200);
constexpr double kSecondsPerLine = 60;
constexpr std::string_view kErase = "\r\033[J";  // all from the first column of this row on

/// The terminal that shows a progress line; -1: none does.
std::atomic<int> shown_on{-1};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler reads it");

std::string text_of(const Reading& reading) {
    return reading.name + formatted(reading.percent ? " %.2f %%" : " %.3f", reading.value);
}

/// A part of the line. Where there is no room, parts with high numbers are left out first.
struct Part {
    std::string text;
    int leaves = 0;  // 0: never
};

/// The parts of the line after the share of the work that is done.
std::vector<Part> parts_of(const Progress& progress) {
    const std::string count = std::to_string(progress.done) + "/" + std::to_string(progress.total) + " ";
    std::vector<Part> parts = {{count + std::string(progress.unit), progress.readings.empty() ? 1 : 5}};
    for (const Reading& reading : progress.readings)
        parts.push_back({text_of(reading), &reading == &progress.readings.front() ? 1 : 3});
    parts.push_back({formatted("%.1f ", progress.rate) + std::string(progress.rate_unit) + "/s", 4});
    const double left = seconds_left(progress);
    if (left >= 0) parts.push_back({duration_text(left) + " left", 2});
    return parts;
}

/// The line with the parts whose `leaves` is below `most`.
std::string line_of(const Progress& progress, const std::vector<Part>& parts, int most) {
    const double share =
        progress.total > 0 ? static_cast<double>(progress.done) / static_cast<double>(progress.total) : 1;
    std::string text = formatted("[%5.1f%%]", 100 * share);
    bool first = true;
    for (const Part& part : parts) {
        if (part.leaves >= most) continue;
        text += (first ? " " : ", ") + part.text;
        first = false;
    }
    return text;
}

}  // namespace

std::string duration_text(double seconds) {
    const auto total = static_cast<long long>(std::llround(seconds));
    return formatted("%lld:%02lld:%02lld", total / 3600, total / 60 % 60, total % 60);
}

double seconds_left(const Progress& progress) {
    if (progress.done <= progress.first || progress.elapsed_seconds <= 0) return -1;
    const double each = progress.elapsed_seconds / static_cast<double>(progress.done - progress.first);
    return each * static_cast<double>(progress.total - progress.done);
}

std::string progress_text(const Progress& progress, std::size_t width) {
    constexpr int kAll = 6;
    const std::vector<Part> parts = parts_of(progress);
    std::string text = line_of(progress, parts, kAll);
    for (int most = kAll - 1; text.size() > width && most > 0; --most)
        text = line_of(progress, parts, most);
    return text.substr(0, width);
}

ProgressLine::ProgressLine(std::ostream& console, Terminal terminal)
    : console_(console), terminal_(std::move(terminal)) {
    if (has_terminal()) log::set_before_line([this] { erase(); });
}

ProgressLine::~ProgressLine() {
    if (has_terminal()) log::set_before_line({});
    erase();
}

void ProgressLine::show(const Progress& progress) {
    if (!has_terminal()) return;
    const std::scoped_lock lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (shown_ && now - written_ < kDrawInterval) return;
    written_ = now;
    const int columns = terminal_.columns();
    if (columns > 1) write(progress_text(progress, static_cast<std::size_t>(columns - 1)));
}

void ProgressLine::show(const std::string& text) {
    if (!has_terminal()) return;
    const std::scoped_lock lock(mutex_);
    const int columns = terminal_.columns();
    if (columns > 1) write(text.substr(0, static_cast<std::size_t>(columns - 1)));
}

void ProgressLine::write(const std::string& text) {
    console_ << kErase << text << '\r' << std::flush;
    shown_ = true;
    shown_on = terminal_.descriptor;
}

void ProgressLine::erase() {
    const std::scoped_lock lock(mutex_);
    if (!shown_) return;
    console_ << kErase << std::flush;
    shown_ = false;
    shown_on = -1;
}

void abandon_progress_line() noexcept {
    const int descriptor = shown_on.exchange(-1);
    if (descriptor < 0) return;
    const ssize_t ignored = ::write(descriptor, kErase.data(), kErase.size());
    static_cast<void>(ignored);
}

/// A piece of work with less done than before is another one.
bool MinuteLines::is_due(const Progress& progress) {
    const auto minutes = static_cast<std::int64_t>(progress.elapsed_seconds / kSecondsPerLine);
    if (progress.done < done_ || minutes < minutes_) minutes_ = 0;
    done_ = progress.done;
    if (!progress.is_silent || minutes <= minutes_) return false;
    minutes_ = minutes;
    return true;
}

}  // namespace cnntrain::metrics
