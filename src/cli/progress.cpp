#include "cli/progress.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace cnntrain::cli {

namespace {

constexpr std::chrono::milliseconds kTerminalInterval{200};
constexpr std::chrono::seconds kPlainInterval{10};

std::string clock_text(double seconds) {
    const auto whole = std::llround(seconds);
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
    return text.data();
}

}  // namespace

std::string progress_line(std::int64_t done, std::int64_t first, std::int64_t total, double seconds,
                          std::string_view unit) {
    const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1;
    const double rate = seconds > 0 ? static_cast<double>(done - first) / seconds : 0;
    std::array<char, 128> text{};
    std::snprintf(text.data(), text.size(), "[%5.1f%%] %lld/%lld %.*s, %.1f %.*s/s", 100 * share,
                  static_cast<long long>(done), static_cast<long long>(total), static_cast<int>(unit.size()),
                  unit.data(), rate, static_cast<int>(unit.size()), unit.data());
    std::string result = text.data();
    if (rate > 0) result += ", " + clock_text(static_cast<double>(total - done) / rate) + " left";
    return result;
}

ProgressReport::ProgressReport(std::ostream& console, int width, std::string_view unit)
    : console_(console), width_(width), unit_(unit), start_(std::chrono::steady_clock::now()), shown_(start_) {}

double ProgressReport::elapsed_seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void ProgressReport::update(std::int64_t done, std::int64_t first, std::int64_t total) {
    const auto now = std::chrono::steady_clock::now();
    const bool terminal = width_ > 0;
    if (terminal ? now - shown_ < kTerminalInterval : now - shown_ < kPlainInterval) return;
    shown_ = now;
    std::string text = progress_line(done, first, total, elapsed_seconds(), unit_);
    if (!terminal) {
        console_ << text << std::endl;  // flushed, so that a pipe or a file shows it at once
        return;
    }
    text.resize(std::min(text.size(), static_cast<std::size_t>(width_ - 1)));  // a wrapped line could not be erased
    erase();
    console_ << text << std::flush;
    length_ = text.size();
}

void ProgressReport::line(std::string_view text) {
    erase();
    console_ << text << std::endl;
}

void ProgressReport::erase() {
    if (length_ == 0) return;
    console_ << '\r' << std::string(length_, ' ') << '\r' << std::flush;
    length_ = 0;
}

}  // namespace cnntrain::cli
