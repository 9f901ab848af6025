#include "cli/signals.h"

#include <csignal>
#include <cstdlib>

#include <unistd.h>

#include "cnntrain/base/error.h"

namespace cnntrain::cli {

namespace {

// The one thing that a handler may write and a run may read.
volatile std::sig_atomic_t stop_flag = 0;

extern "C" void on_stop_signal(int) {
    if (stop_flag != 0) _exit(kInterruptedExitCode);
    stop_flag = 1;
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
    return stop_flag != 0;
}

}  // namespace cnntrain::cli
