#include "cli/console.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/parallel/communicator.h"
#include "cnntrain/run/observer.h"
#include "cnntrain/run/text_reports.h"

namespace cnntrain::cli {
namespace {

bool in_json = false;
std::streambuf* standard_output = nullptr;  // behind a PrintableOutput

/// A launcher whose variables cannot be read is refused elsewhere.
bool is_launched() {
    try {
        return comm::read_launched(process_variables()).world.has_value();
    } catch (const Error&) {
        return true;
    }
}

Terminal terminal_of_stream(int descriptor) {
    return is_launched() ? Terminal() : terminal_of(descriptor, process_variables());
}

/// Every text is one of a call of operator<<, so that no character of UTF-8 is split.
class PrintableBuffer : public std::streambuf {
public:
    explicit PrintableBuffer(std::streambuf& to) : to_(to) {}

protected:
    int_type overflow(int_type c) override {
        if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
        const char one = traits_type::to_char_type(c);
        return xsputn(&one, 1) == 1 ? c : traits_type::eof();
    }
    std::streamsize xsputn(const char* text, std::streamsize count) override {
        const std::string shown = printable_lines({text, static_cast<std::size_t>(count)});
        const auto size = static_cast<std::streamsize>(shown.size());
        return to_.sputn(shown.data(), size) == size ? count : 0;
    }
    int sync() override { return to_.pubsync(); }

private:
    std::streambuf& to_;
};

std::optional<PrintableBuffer> printable_buffer;

}  // namespace

PrintableOutput::PrintableOutput() {
    standard_output = std::cout.rdbuf();
    std::cout.rdbuf(&printable_buffer.emplace(*standard_output));
}

PrintableOutput::~PrintableOutput() {
    std::cout.rdbuf(standard_output);
    standard_output = nullptr;
}

std::ostream& terminal_output() {
    static std::ostream output(nullptr);
    std::streambuf* const now = standard_output != nullptr ? standard_output : std::cout.rdbuf();
    if (output.rdbuf() != now) output.rdbuf(now);  // this would clear errors
    return output;
}

Terminal console_terminal() {
    const Variables variables = process_variables();
    const auto given = variables.find(std::string(kColumnsVariable));
    if (!is_launched() || given == variables.end()) return terminal_of_stream(STDOUT_FILENO);
    const int columns = std::atoi(given->second.c_str());
    return columns > 0 ? Terminal{.columns = [columns] { return columns; }} : Terminal();
}

Terminal diagnostics_terminal() {
    return terminal_of_stream(STDERR_FILENO);
}

void report_in_json() {
    in_json = true;
    log::set_format(metrics::message_line);
}

bool reports_in_json() {
    return in_json;
}

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
