// The core budget: how many cores this process may use, and how they are shared.
#pragma once

#include <optional>
#include <string>

namespace cnntrain {

/// What this process may use of the machine: its affinity mask, within the quota of its control group.
struct CoreCount {
    int processors = 0;           // as the system counts them: hyper-threads
    int cores = 0;                // that these belong to
    std::optional<double> quota;  // processors' worth of time
};
CoreCount count_cores();
/// "4 cores with 8 hyper-threads, a quota of 1.5 processors".
std::string to_string(const CoreCount& count);

/// For threads that compute, whose vector units hyper-threads of a core would share: cores within the quota, at least 1.
int available_cores();
/// For threads that wait for memory and disk: processors within the quota, at least 1.
int available_processors();

/// Threads that a user may ask for here: many more than cores wait for each other instead of working, so long that nothing can
/// be stopped. At least 64.
int most_threads();

/// Cores are shared by compute and input. Input threads sleep while the ring is full, so they may
/// number as many as the processors without oversubscribing in the steady state.
struct CoreBudget {
    int compute_threads = 1;
    int input_threads = 1;
};

/// `compute_threads` / `input_threads` of 0 mean "choose": all of `cores` and of `processors`.
CoreBudget plan_cores(int cores, int processors, int compute_threads, int input_threads);

}  // namespace cnntrain
