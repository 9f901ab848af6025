// What messages and sums take between the ranks of a run, measured. Collective, as everything of a Communicator.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "cnntrain/comm/communicator.h"

namespace cnntrain::comm {

/// Median seconds of one call, of the slowest rank; about `seconds` are spent. Rank 0 decides when it is enough, so
/// that all ranks call equally often.
double median_seconds(Communicator& communicator, double seconds, const std::function<void()>& call);

struct TimedMessage {
    double bytes = 0;
    double seconds = 0;
};

/// time = latency + bytes / bandwidth.
struct LinkFit {
    double latency_seconds = 0;
    double bytes_per_second = 0;
    double residual = 0;  // root mean square of (predicted - measured) / measured
};
/// Least squares of the relative differences, so that small messages count as much as large ones; where the best
/// latency is below 0, the best line without one. At least two sizes.
LinkFit fit_link(std::span<const TimedMessage> messages);

struct TimedSum {
    ReduceOptions options;
    double bytes = 0;  // of the bucket
    double seconds = 0;
};

struct NetworkTimes {
    std::vector<TimedMessage> between_nodes;  // `bytes`: of all ranks of a node; empty when there is one node
    std::vector<TimedMessage> inside_node;    // empty when each rank has a node of its own
    double adding_seconds_per_byte = 0;       // what adding another rank's gradients takes while all ranks do so
    std::vector<TimedSum> sums;               // both routes, 32 and 16 bits
};

struct Sweep {
    std::int64_t largest_bytes = 16 << 20;  // of a message or bucket; at least 64
    double seconds = 0.05;                  // for each number
};

/// Messages go back and forth at the same time, between all pairs at once: ranks that share cores, memory or a way out
/// of the node do so while they are timed, as in a sum. What is sent or added has not just been in a cache, as the
/// gradients of a network. First between nodes, then inside them. The result is the same on all ranks, of which there
/// are at least two.
NetworkTimes measure_network(Communicator& communicator, const Sweep& sweep);

/// Of this process by itself.
double adding_seconds_per_byte();

}  // namespace cnntrain::comm
