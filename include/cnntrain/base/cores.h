// The core budget: how many cores this process may use, and how they are shared.
#pragma once

namespace cnntrain {

/// Cores usable by this process: affinity mask and cgroup quota, whichever is less; at least 1.
int available_cores();

/// Threads that a user may ask for here: many more than cores wait for each other instead of working, so long that nothing can
/// be stopped. At least 64.
int most_threads();

/// Cores are shared by compute and input. Input threads sleep while the ring is full, so they may
/// number as many as the cores without oversubscribing in the steady state.
struct CoreBudget {
    int compute_threads = 1;
    int input_threads = 1;
};

/// `compute_threads` / `input_threads` of 0 mean "choose".
CoreBudget plan_cores(int available, int compute_threads, int input_threads);

}  // namespace cnntrain
