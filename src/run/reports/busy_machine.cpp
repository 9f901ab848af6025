#include "run/reports/busy_machine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "cnntrain/base/text.h"

namespace cnntrain::run {
namespace {

constexpr double kFirstWindowSeconds = 3;
constexpr double kLaterWindowSeconds = 60;

}  // namespace

std::string busy_machine_warning(const Competition& found, int threads, int processors) {
    if (threads <= 1 || !found.is_felt()) return "";
    const int left = static_cast<int>(std::floor(processors - found.others));
    const int better = std::clamp(left, 1, threads - 1);
    return formatted(
        "other programs use %.1f of the %d processors, and the %d compute threads of this run wait %.0f %% of the time "
        "for a processor; end the other programs, or try --threads %d",
        found.others, processors, threads, 100 * found.queued_share, better);
}

BusyMachine::BusyMachine(int threads, int processors, std::function<void(const std::string&)> warn)
    : threads_(threads), processors_(processors), warn_(std::move(warn)), window_seconds_(kFirstWindowSeconds) {}

void BusyMachine::handle(const metrics::Progress& /*progress*/) {
    if (!warn_ || threads_ <= 1) return;
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    const double now = std::chrono::duration<double>(time).count();
    if (since_ && now < next_look_) return;
    const ProcessorTimes times = processor_times();
    if (since_) {
        const std::string warning = busy_machine_warning(competition(*since_, times), threads_, processors_);
        if (!warning.empty()) std::exchange(warn_, nullptr)(warning);
        window_seconds_ = kLaterWindowSeconds;
    }
    since_ = times;
    next_look_ = now + window_seconds_;
}

}  // namespace cnntrain::run
