// Times of a network's functions on this machine: measured, read from a file, or estimated from FLOPs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/io.h"
#include "cnntrain/schedule/pipeline.h"
#include "plan/functions.h"

namespace cnntrain::plan {

/// With one number of threads, while the machine's other threads do the same.
struct FunctionTimes {
    std::vector<schedule::StageTimes> functions;  // of one micro-batch
    double update_ms = 0;                         // work done once per weight update
};

struct Profile {
    std::map<std::string, std::string> made_for;  // "micro-batch" -> "4": whatever changes the work
    std::vector<std::string> functions;
    std::vector<double> forward_gflop;   // of each function
    std::string machine;                 // on which it was measured, for people
    std::map<int, FunctionTimes> times;  // by threads
};

/// Error(data) for a file that is damaged or something else.
Profile read_profile(const FileSystem& files, const std::string& path);
void write_profile(FileSystem& files, const std::string& path, const Profile& profile);

/// Error(usage) if the profile in `path` was made for other settings than `wanted`'s, whose times do not matter.
void check_profile(const Profile& profile, const Profile& wanted, const std::string& path);

struct Measurement {
    int threads = 1;  // of a lane
    int lanes = 1;    // that work side by side: they share caches and memory bandwidth
    std::int64_t steps = 1;
    bool stochastic_rounding = true;
    std::function<bool()> stop_requested = {};
};

/// Weight updates of a few micro-batches of made-up images on each lane.
class Profiler {
public:
    /// Compiles the graph and runs it once. All must outlive the profiler, `how.steps` does not matter.
    Profiler(const graph::Graph& graph, const FunctionNames& names, const backend::Backend& backend,
             const Measurement& how);
    ~Profiler();
    Profiler(const Profiler&) = delete;
    Profiler& operator=(const Profiler&) = delete;

    /// Times of one more update. Throws Interrupted when a stop was asked for.
    FunctionTimes update();

private:
    void run_update();

    const FunctionNames& names_;
    Measurement how_;
    std::unique_ptr<data::BatchSource> batches_;
    std::unique_ptr<backend::Executable> executable_;
};

/// The medians of `how.steps` updates.
FunctionTimes measure(const graph::Graph& graph, const FunctionNames& names, const backend::Backend& backend,
                      const Measurement& how);

/// Times of a micro-batch in `updates` weight updates of several micro-batches each. `rows`: grouped by the `copies`
/// copies of the network.
FunctionTimes times_by_function(const std::vector<backend::ProfileRow>& rows, const FunctionNames& names,
                                std::int64_t updates, int copies = 1);

/// Gigaflops per second of one thread that times without a measurement are based on. A guess: only their proportions
/// mean something.
inline constexpr double kAssumedGflops = 50;
FunctionTimes times_of_flops(const std::vector<FunctionFacts>& functions, int threads);

}  // namespace cnntrain::plan
