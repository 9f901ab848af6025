// The core budget: how many cores this process may use, and how they are shared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cnntrain {

/// The cores that this process may use: its affinity mask, within the quota of its control group.
struct CoreCount {
    int processors = 0;           // as the system counts them: hyper-threads
    int cores = 0;                // physical cores of these processors
    std::optional<double> quota;  // processors' worth of time
};
CoreCount count_cores();
/// "4 cores with 8 hyper-threads, a quota of 1.5 processors".
std::string to_string(const CoreCount& count);

/// This process is one of several that a launcher started on this machine.
struct MachineShare {
    int index = 0;      // among them
    int count = 1;      // of them
    bool bound = true;  // false: it may run on all cores, and only the numbers of its threads follow the share
};
/// The environment variable with which a launcher says "disabled": not bound.
inline constexpr const char* kPlacementVariable = "CNNTRAIN_PROCESS_PLACEMENT";

/// Takes this process's share of the cores, NUMA nodes first, by setting its own affinity mask; with more processes
/// than cores each gets one. From then on all functions here describe the share. A binding by the launcher is kept.
/// Must be called before a second thread starts. Returns a line for the log: "instance 1 of 2: cores 8-15".
std::string take_share(const MachineShare& share);

/// Number of cores within the quota, at least 1: for threads that compute, because hyper-threads of a core would share
/// its vector units.
int available_cores();
/// Number of processors within the quota, at least 1: for threads that wait for memory and disk.
int available_processors();

/// The most threads that a user may ask for: with many more threads than cores, waiting for each other takes so long
/// that a run cannot be stopped. At least 64.
int most_threads();

/// Cores are shared by compute and input. Input threads sleep while the ring is full, so they may
/// number as many as the processors without oversubscribing in the steady state.
struct CoreBudget {
    int compute_threads = 1;
    int input_threads = 1;
};

/// `compute_threads` / `input_threads` of 0 mean "choose": all of `cores` and of `processors`.
CoreBudget plan_cores(int cores, int processors, int compute_threads, int input_threads);

// The processor's caches.

/// The data caches of one level.
struct CacheLevel {
    int level = 0;
    std::uint64_t bytes = 0;  // of each
    int count = 0;            // different ones among the processors of this process

    /// Bytes of this level that threads on separate cores reach together.
    std::uint64_t bytes_of(int threads) const;
};
/// Data caches, nearest first; empty if the system does not report them.
std::vector<CacheLevel> data_caches();

}  // namespace cnntrain
