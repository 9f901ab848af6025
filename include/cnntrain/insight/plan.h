// Plans the pipeline of a training command line before it runs: stages, memory, times and better splits.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cnntrain/options/parse.h"
#include "cnntrain/parallel/communicator.h"
#include "cnntrain/run/runs.h"

namespace cnntrain::plan {

// Predicts the time of a data-parallel weight update from the step of one process. Pure numbers.
//
// p processes, r = min(p, ranks per node) of them on each of m = ceil(p / r) nodes; n bytes of gradients in 32-bit
// floats, of which w n are sent (w = 1, or 1/2 with 16 bits). L and B are latency and bandwidth between two nodes, l
// and b between two ranks of a node; g is the time in which a rank adds one byte of another rank's gradients.
//   message      L + n / B (Hockney 1994, "The communication challenge for MPP: Intel Paragon and Meiko CS-2")
//   flat         2 (p - r) L + 2 (r - 1) l + 2 (w n / p) (r (p - r) / B + (r - 1) / b) + ((p - 1) / p) n g
//                Each rank receives a share of the bucket from all others and sends its sum to all others. The cost
//                is that of Thakur, Rabenseifner and Gropp 2005, "Optimization of collective communication operations
//                in MPICH", section 4.5, with the r ranks of a node sharing the node's link.
//   hierarchical 3 l + (2 + (r - 1) / r) n g, plus the flat sum of m ranks, one on each node: the ranks of a node copy
//                their gradients into shared memory, add them there, and copy the sum back. With r = 1, equal to flat.
//   16 bits      2 n g more if messages are sent.
// Copying, rounding and widening a byte are assumed to cost as much as adding one, since all are limited by memory
// bandwidth. A bucket's sum starts when backward has completed all of its gradients and the previous bucket is done,
// or, without overlap, when backward has ended; the update follows the last bucket. Messages are assumed to take no
// compute time.
//   slowest      s e(p): gradients wait for the slowest process. Its step is longer than the mean by e(p) standard
//                deviations s of a process's step (processes.h); steps are taken as independent normal numbers.
//   input        a step is not shorter than the time in which a process gets its samples, which it reads ahead.

/// A link between two ranks, with full bandwidth in both directions at once.
struct Link {
    double latency_ms = 0;
    double bytes_per_ms = std::numeric_limits<double>::infinity();
};

struct Network {
    Link between_nodes{};           // of a node, shared by its ranks
    Link inside_node{};             // of a rank
    double adding_ms_per_byte = 0;  // to add received gradients
};

struct ProcessGrid {
    std::int64_t processes = 1;
    std::int64_t ranks_per_node = 1;  // the last node may have fewer
};

/// Method of summing gradients.
struct ReduceMethod {
    int wire_bits = 32;  // bits of each value sent: 32 or 16
    bool hierarchical = false;
    bool overlap = true;  // communicate during the backward pass
};

/// Time to sum one bucket of `bytes` (as 32-bit floats) over all processes, without other traffic. 0 for one process.
double all_reduce_ms(const Network& network, const ProcessGrid& grid, const ReduceMethod& method, double bytes);

/// The step of a single process.
struct ProcessStep {
    double before_ms = 0;    // until the last micro-batch's backward pass begins, in which gradients become complete
    double backward_ms = 0;  // duration of that pass
    double update_ms = 0;
    double samples = 0;  // samples of the process per weight update

    double total_ms() const { return before_ms + backward_ms + update_ms; }
};

/// Gradients that are summed together.
struct ReadyBucket {
    double bytes = 0;     // as 32-bit floats
    double ready_ms = 0;  // after the start of the last backward pass; at most its duration
};

/// Causes of waiting in a step other than its sums.
struct Waits {
    double deviation_ms = 0;  // standard deviation of one process's step
    double input_ms = 0;      // in which a process gets the samples of a step

    bool any() const { return deviation_ms > 0 || input_ms > 0; }
};

struct DataParallelTime {
    double step_ms = 0;
    double communication_ms = 0;  // of all buckets
    double hidden_ms = 0;         // the part that overlaps with backward
    double samples_per_second = 0;
    double efficiency = 1;  // samples/s per process, relative to a single process

    /// Fraction of the communication that is hidden; 1 without communication.
    double hidden_share() const { return communication_ms > 0 ? hidden_ms / communication_ms : 1; }
};

/// `buckets` are in sending order. The process's step must have a positive time.
DataParallelTime data_parallel_time(const ProcessStep& step, std::span<const ReadyBucket> buckets,
                                    const Network& network, const ProcessGrid& grid, const ReduceMethod& method,
                                    const Waits& waits = {});

/// Inputs of the prediction for several processes, in addition to the step of one.
struct ProcessPlan {
    std::vector<std::int64_t> counts;  // numbers of processes, ascending, starting at 1
    std::int64_t ranks_per_node = 1;
    Network network;
    std::string network_from;                          // for the output: "as given", "measured ..."
    std::optional<double> samples_per_second{};        // of one process, instead of the measured rate
    std::optional<double> step_spread{};               // standard deviation over mean of one process's step, if given
    std::optional<double> input_samples_per_second{};  // of one process's input; empty: never waited for
};

struct PlanSettings {
    /// A profile.json that `cnntrain profile` has written for this line without its pipeline: times of the network's
    /// functions, for as many threads as its lanes had. Times for other numbers of threads are measured.
    std::optional<std::string> profile{};
    std::optional<std::uint64_t> memory_limit_bytes{};  // per stage, for the proposed splits
    std::optional<std::int32_t> stages{};               // number to propose; empty: that of the command line, or two
    std::int64_t steps = 3;                             // number of measured weight updates, after one for warm-up
    bool measure = true;                                // false: estimate times that no profile has from FLOPs
    std::optional<ProcessPlan> processes{};             // if set, predicts several processes instead of stages
};

/// Prints the plan of a `train` command line: its stages, or the prediction for several processes. Needs neither its
/// data nor its checkpoints. Throws Error(usage) for splits or a number of stages that the network does not have, for a
/// profile of something else, and for a memory limit that no splits satisfy; Error(data) for a damaged profile.
void plan_training(const run::TaskRow& row, const options::ParseResult& line, const PlanSettings& settings,
                   const run::Host& host);

// Converts network measurements of comm to the network of the time model.

/// Fits lines to the measured messages. A link that no two ranks have, and which was therefore not measured, costs
/// nothing.
Network network_of(const comm::NetworkTimes& times);

/// "latency 1.5 us, 12.5 GB/s"
std::string link_text(const Link& link);
/// The measured latencies, bandwidths, residuals and adding rate, in one line.
std::string measured_text(const comm::NetworkTimes& times);
/// A table of every measured sum and the model's prediction from the measured messages, for the measured ranks.
std::string sums_text(const comm::NetworkTimes& times, const ProcessGrid& grid);

}  // namespace cnntrain::plan
