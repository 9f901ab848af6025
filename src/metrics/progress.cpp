#include "cnntrain/metrics/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace cnntrain::metrics {
namespace {

constexpr std::chrono::milliseconds kInterval(200);
constexpr double kSecondsPerLine = 60;

/// For example "0:09:12".
std::string clock_text(double seconds) {
    const auto total = static_cast<long long>(std::llround(seconds));
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), "%lld:%02lld:%02lld", total / 3600, total / 60 % 60, total % 60);
    return text.data();
}

}  // namespace

std::string progress_text(const Progress& progress) {
    const auto [done, first, total, rate, seconds, unit, rate_unit, is_silent] = progress;
    const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1;
    std::array<char, 128> text{};
    std::snprintf(text.data(), text.size(), "[%5.1f%%] %lld/%lld %.*s, %.1f %.*s/s", 100 * share,
                  static_cast<long long>(done), static_cast<long long>(total), static_cast<int>(unit.size()),
                  unit.data(), rate, static_cast<int>(rate_unit.size()), rate_unit.data());
    std::string result = text.data();
    if (done > first && seconds > 0) {
        const double each = seconds / static_cast<double>(done - first);
        result += ", " + clock_text(each * static_cast<double>(total - done)) + " left";
    }
    return result;
}

void ProgressLine::show(const Progress& progress) {
    if (width_ <= 0) return;
    const auto now = std::chrono::steady_clock::now();
    if (length_ > 0 && now - written_ < kInterval) return;
    written_ = now;
    std::string text = progress_text(progress);
    text.resize(std::min(text.size(), static_cast<std::size_t>(width_ - 1)));  // a wrapped line could not be erased
    erase();
    console_ << text << std::flush;
    length_ = text.size();
}

void ProgressLine::erase() {
    if (length_ == 0) return;
    console_ << '\r' << std::string(length_, ' ') << '\r' << std::flush;
    length_ = 0;
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

int terminal_width(int descriptor) {
    winsize size{};
    if (::isatty(descriptor) == 0) return 0;
    if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
    return size.ws_col;
}

}  // namespace cnntrain::metrics
