// Estimates the memory and time of a training run on this machine before it starts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/options/settings.h"
#include "cnntrain/parallel/run_plan.h"
#include "cnntrain/run/task.h"

namespace cnntrain::run {

/// The largest memory of a training process, in bytes.
struct MemoryEstimate {
    std::uint64_t program = 0;      // code, libraries, the compiled graph, stacks of threads
    std::uint64_t variables = 0;    // parameters, states, copies derived from them
    std::uint64_t activations = 0;  // and gradients
    std::uint64_t input = 0;        // data set and ring of batches
    std::uint64_t copies = 0;       // of variables, while a checkpoint is written
    std::uint64_t validation = 0;   // the second executable and its input, if the training is validated while it runs
    std::uint64_t average = 0;      // the moving average of the weights
    std::uint64_t total() const { return program + variables + activations + input + copies + validation + average; }
};

/// Time of one weight update, measured on made-up samples.
struct TimeEstimate {
    double flops = 0;
    double seconds = 0;
    std::int64_t samples = 0;  // of the micro-batches that were measured
};

struct RunEstimate {
    MemoryEstimate memory;
    std::optional<TimeEstimate> time;  // empty: not measured, because the run needs more memory than the machine has
};

/// Compiles the graph of a training without memory for its values, and measures a few of its micro-batches, or smaller
/// ones where they would take long, for some seconds. `fields`: of its micro-batches. Empty if the backend cannot
/// estimate. Throws what compile() throws.
std::optional<RunEstimate> estimate_run(const Task& task, const options::Settings& settings,
                                        const backend::Backend& backend, const graph::Graph& graph,
                                        const std::vector<data::Field>& fields);

/// An update that takes longer is pointed out.
inline constexpr double kLongUpdateSeconds = 10;

// Texts ---------------------------------------------------------------------------------------------------------------
/// "about 1.9 GB at most: ..."; says so when it is more than `machine_bytes`.
std::string memory_text(const MemoryEstimate& memory, std::uint64_t machine_bytes);
/// "about 12.3 samples/s, 2.6 s an update, 4 h in all; ...", for so many updates.
std::string time_text(const TimeEstimate& time, std::int64_t updates, std::int64_t global_batch,
                      const std::string& samples);
/// "38 seconds", "4.2 hours"
std::string duration_text(double seconds);

/// The files of weights that a run writes, without their headers.
struct CheckpointTotal {
    std::int64_t written = 0;         // in the whole run
    std::int64_t keep = 0;            // newest ones that are kept; 0: all
    std::uint64_t bytes = 0;          // of each
    std::uint64_t best_bytes = 0;     // of the best weights; 0: they are not kept
    std::uint64_t average_bytes = 0;  // of the moving average of the weights; 0: there is none
    std::int64_t kept() const;
};
CheckpointTotal checkpoint_total(const graph::Graph& graph, const options::Settings& settings,
                                 const schedule::RunPlan& plan);
/// "11 of 97.8 MB, of which the newest 5 are kept: 489.0 MB"; "none"; followed by the best weights and the average.
std::string checkpoint_text(const CheckpointTotal& total);
/// A warning if the checkpoints do not fit into the free bytes of their folder; "" if they do.
std::string disk_warning(const CheckpointTotal& total, std::uint64_t free_bytes, const std::string& folder);

}  // namespace cnntrain::run
