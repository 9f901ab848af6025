#include "cli/signals.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>

#include <unistd.h>

#include "cnntrain/base/error.h"

namespace cnntrain::cli {

namespace {

/// One request may come as two signals: timeout(1) and batch systems send them to the process and to its group.
constexpr std::int64_t kSameRequestNs = 1'000'000'000;

// What a handler may write and a run may read.
std::atomic<std::int64_t> stop_time_ns{0};  // of the first signal; 0: none yet
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

extern "C" void on_stop_signal(int) {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const std::int64_t now_ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
    std::int64_t first = 0;
    if (stop_time_ns.compare_exchange_strong(first, now_ns)) return;
    if (now_ns - first >= kSameRequestNs) _exit(kInterruptedExitCode);
}

}  // namespace

void catch_stop_signals() {
    struct sigaction action = {};
    action.sa_handler = on_stop_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGINT, &action, nullptr);
}

bool stop_requested() {
    return stop_time_ns != 0;
}

}  // namespace cnntrain::cli
