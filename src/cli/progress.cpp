#include "cli/progress.h"

#include <unistd.h>

#include <iostream>

#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/text.h"

namespace cnntrain::cli {
namespace {

constexpr std::chrono::seconds kPlainInterval{10};

}  // namespace

ProgressReport::ProgressReport(std::ostream& console, const Terminal& terminal, std::string_view unit)
    : console_(console),
      line_(console, terminal),
      unit_(unit),
      start_(std::chrono::steady_clock::now()),
      shown_(start_) {}

ProgressReport::ProgressReport(std::string_view unit)
    : ProgressReport(std::cerr, terminal_of(STDERR_FILENO, process_variables()), unit) {}

double ProgressReport::elapsed_seconds() const {
    return seconds_since(start_);
}

void ProgressReport::update(std::int64_t done, std::int64_t first, std::int64_t total) {
    const double seconds = elapsed_seconds();
    const double rate = seconds > 0 ? static_cast<double>(done - first) / seconds : 0;
    const metrics::Progress progress{done, first, total, rate, seconds, unit_, unit_};
    if (line_.has_terminal()) return line_.show(progress);
    const auto now = std::chrono::steady_clock::now();
    if (now - shown_ < kPlainInterval) return;
    shown_ = now;
    console_ << metrics::progress_text(progress) << std::endl;  // flushed, so that pipes and files show it at once
}

void ProgressReport::update_bytes(std::uint64_t done, std::uint64_t total) {
    constexpr std::uint64_t kMega = 1'000'000;
    update(static_cast<std::int64_t>(done / kMega), 0, static_cast<std::int64_t>(total / kMega));
}

void ProgressReport::line(std::string_view text) {
    line_.erase();
    console_ << printable_lines(text) << std::endl;
}

}  // namespace cnntrain::cli
