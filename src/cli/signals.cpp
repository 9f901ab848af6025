#include "cli/signals.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <string_view>

#include <unistd.h>

#include "cnntrain/base/error.h"
#include "cnntrain/run/observer.h"

namespace cnntrain::cli {
namespace {

/// One stop request may arrive as two signals: timeout(1) and batch systems signal the process and its group.
constexpr std::int64_t kSameRequestNs = 1'000'000'000;
/// Time for a run to stop by itself. Whoever waits for the process sees it end about a second later at most.
constexpr unsigned kSecondsToStop = 4;

// Shared between signal handlers and the run.
std::atomic<std::int64_t> stop_time_ns{0};  // time of the first signal; 0: none so far
std::atomic<bool> exit_held{false};
static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

extern "C" void on_stop_signal(int) {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const std::int64_t now_ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
    std::int64_t first = 0;
    if (stop_time_ns.compare_exchange_strong(first, now_ns)) {
        alarm(kSecondsToStop);
        return;
    }
    if (now_ns - first < kSameRequestNs) return;
    metrics::abandon_progress_line();
    _exit(kInterruptedExitCode);
}

/// Ends the process when its time to stop is over. If it still has work to save, it may be blocked on a console that
/// nobody reads: a signal each second interrupts the blocked call.
extern "C" void on_alarm(int) {
    if (exit_held) {
        alarm(1);
        return;
    }
    metrics::abandon_progress_line();
    constexpr std::string_view kText = "stopped by a signal before the current step was complete\n";
    const ssize_t ignored = write(STDERR_FILENO, kText.data(), kText.size());
    static_cast<void>(ignored);
    _exit(kInterruptedExitCode);
}

void handle(int number, void (*handler)(int), int flags = SA_RESTART) {
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, nullptr);
}

bool is_ignored(int number) {
    struct sigaction action = {};
    return sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

bool interrupt_ignored_at_start = false;
bool hangup_ignored_at_start = false;

/// Runs before the constructors of shared libraries, which may replace what the parent process has set: UCX, loaded by
/// Open MPI 5, handles SIGHUP.
void remember_ignored_signals(int, char**, char**) {
    interrupt_ignored_at_start = is_ignored(SIGINT);
    hangup_ignored_at_start = is_ignored(SIGHUP);
}
[[gnu::section(".preinit_array"), gnu::used]] void (*before_libraries)(int, char**, char**) = remember_ignored_signals;

}  // namespace

void ignore_as_at_start() {
    if (interrupt_ignored_at_start) handle(SIGINT, SIG_IGN);
    if (hangup_ignored_at_start) handle(SIGHUP, SIG_IGN);
}

void catch_stop_signals() {
    handle(SIGALRM, on_alarm, /*flags=*/0);
    handle(SIGPIPE, SIG_IGN);
    handle(SIGTERM, on_stop_signal);
    for (const int number : {SIGINT, SIGHUP}) {
        if (!is_ignored(number)) handle(number, on_stop_signal);
    }
}

bool stop_requested() {
    return stop_time_ns != 0;
}

void hold_exit(bool held) {
    exit_held = held;
}

}  // namespace cnntrain::cli
