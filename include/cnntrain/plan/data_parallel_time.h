// Time of a data-parallel weight update, predicted from the step of one process. Pure numbers.
//
// p processes, r = min(p, ranks per node) of them on each of m = ceil(p / r) nodes, n bytes of gradients in 32-bit
// floats of which w n travel (w = 1, or 1/2 with 16 bits). L and B are latency and bandwidth between two nodes, l and b
// between two ranks of a node, g is the time in which a rank adds one byte of another rank's gradients.
//   message      L + n / B (Hockney 1994, "The communication challenge for MPP: Intel Paragon and Meiko CS-2")
//   flat         2 (p - r) L + 2 (r - 1) l + 2 (w n / p) (r (p - r) / B + (r - 1) / b) + ((p - 1) / p) n g
//                Every rank gets a share of the bucket from all others and sends its sum to all others, which is the
//                cost in Thakur, Rabenseifner and Gropp 2005, "Optimization of collective communication operations in
//                MPICH", section 4.5, with the r ranks of a node sharing the way out of it.
//   hierarchical 3 l + (2 + (r - 1) / r) n g, and the flat sum of m ranks, one on each node: the ranks of a node copy
//                their gradients into memory that they share, add there, and copy the sum back. With r = 1 it is the
//                flat one.
//   16 bits      2 n g more where messages travel.
// Copying, rounding and widening a byte are assumed to cost as much as adding one: all are bound by memory.
// A bucket's sum begins when backward has finished all of its gradients and the bucket before it is done, or without
// overlap when backward has ended; the update follows the last one. Processes are taken to be equally fast in every
// step, input never to be waited for, and messages to take no time from the cores that compute.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

namespace cnntrain::plan {

/// A link between two ranks. It carries messages in both directions at the same time.
struct Link {
    double latency_ms = 0;
    double bytes_per_ms = std::numeric_limits<double>::infinity();

    double message_ms(double bytes) const { return latency_ms + bytes / bytes_per_ms; }
};

struct Network {
    Link between_nodes{};           // of a node; its ranks share the bandwidth
    Link inside_node{};             // of a rank
    double adding_ms_per_byte = 0;  // of the gradients that are added to a rank's own
};

struct ProcessGrid {
    std::int64_t processes = 1;
    std::int64_t ranks_per_node = 1;  // the last node may have fewer
};

/// How gradients are summed.
struct ReduceMethod {
    int wire_bits = 32;  // of a value that travels: 32 or 16
    bool hierarchical = false;
    bool overlap = true;  // with the backward pass
};

/// Time of one bucket of `bytes` (as 32-bit floats) over all processes, without other traffic. 0 for one process.
double all_reduce_ms(const Network& network, const ProcessGrid& grid, const ReduceMethod& method, double bytes);

/// The step of a single process.
struct ProcessStep {
    double before_ms = 0;    // until the last backward pass begins, after which gradients are complete
    double backward_ms = 0;  // that pass
    double update_ms = 0;
    double images = 0;  // of the process, per weight update

    double total_ms() const { return before_ms + backward_ms + update_ms; }
};

/// Gradients that are summed together.
struct ReadyBucket {
    double bytes = 0;     // as 32-bit floats
    double ready_ms = 0;  // after the last backward pass has begun; at most its length
};

struct DataParallelTime {
    double step_ms = 0;
    double communication_ms = 0;  // of all buckets
    double hidden_ms = 0;         // the part that overlaps with backward
    double images_per_second = 0;
    double efficiency = 1;  // images/s per process, over those of a single process

    /// Hidden share of the communication; 1 without communication.
    double hidden_share() const { return communication_ms > 0 ? hidden_ms / communication_ms : 1; }
};

/// `buckets` in the order in which they are sent. The step of a process must take time.
DataParallelTime data_parallel_time(const ProcessStep& step, std::span<const ReadyBucket> buckets,
                                    const Network& network, const ProcessGrid& grid, const ReduceMethod& method);

}  // namespace cnntrain::plan
