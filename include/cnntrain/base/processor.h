// The processor: its name and instruction sets, the cores that the process may use, caches, and waiting by spinning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cnntrain {

/// An instruction set counts when the processor has it and the system keeps its registers.
struct Processor {
    std::string vendor = {};  // "GenuineIntel"
    std::string name = {};    // "AMD EPYC 9R14 Processor"
    int family = 0;
    int model = 0;
    bool avx2 = false;
    bool fma = false;
    bool avx512 = false;  // F, BW, DQ and VL
    bool avx512_vnni = false;
    bool avx512_bf16 = false;
    bool avx512_fp16 = false;
    bool amx_bf16 = false;
};

/// The processor that runs this process.
Processor this_processor();

/// "AMD EPYC 9R14 Processor (AuthenticAMD, family 25, model 17): AVX2, FMA, AVX-512, AVX512-BF16".
std::string to_string(const Processor& processor);

/// Error(unsupported) for a processor without AVX2 and FMA, which the kernels need.
void require_kernel_instructions(const Processor& processor);

/// A sentence about faster instructions that processors of this kind have and this machine masks, or "".
std::string hidden_instructions(const Processor& processor);

// The core budget: how many cores this process may use, and how they are shared.

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

// Spinning of waiting OpenMP threads before they sleep.

/// Lets waiting threads of libgomp spin for a moment and then sleep, so that they leave the cores to other processes;
/// unless the environment says how they wait (GOMP_SPINCOUNT, OMP_WAIT_POLICY). libgomp reads its environment when it
/// is loaded: the process therefore starts itself once more, with the same arguments and number. Call it first in
/// main(). Where it cannot start itself (no /proc, run by valgrind or as an argument of ld.so) it goes on, and threads
/// wait as libgomp likes.
void limit_spinning(char** argv);

}  // namespace cnntrain
