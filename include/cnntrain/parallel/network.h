// Measured times of messages and sums between the ranks of a run. All functions are collective unless they say
// otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "cnntrain/parallel/communicator.h"

namespace cnntrain::comm {

/// Median time of one call on the slowest rank, in seconds; measures for about `seconds`. Rank 0 decides when to stop,
/// so that all ranks make the same number of calls.
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
/// Least squares of the relative differences, so that small messages count as much as large ones. If the best latency
/// is negative, the best line without latency. Needs at least two sizes.
LinkFit fit_link(std::span<const TimedMessage> messages);

struct TimedSum {
    ReduceOptions options;
    double bytes = 0;  // of the bucket
    double seconds = 0;
};

struct NetworkTimes {
    std::vector<TimedMessage> between_nodes;  // `bytes`: over all ranks of a node; empty if there is one node
    std::vector<TimedMessage> inside_node;    // empty if each rank has its own node
    double adding_seconds_per_byte = 0;       // time to add another rank's gradients while all ranks do so
    std::vector<TimedSum> sums;               // both routes, 32 and 16 bits
};

struct Sweep {
    std::int64_t largest_bytes = 16 << 20;  // of a message or bucket; at least 64
    double seconds = 0.05;                  // for each measurement
};

/// Measures messages in both directions between all pairs at once, so that ranks share cores, memory and network as in
/// a sum. Sent and added memory is cache-cold, like the gradients of a network. Measures between nodes first, then
/// within them. All ranks get the same result. Needs at least two ranks.
NetworkTimes measure_network(Communicator& communicator, const Sweep& sweep);

/// Measures this process alone; not collective.
double adding_seconds_per_byte();

}  // namespace cnntrain::comm
