#include "cnntrain/insight/plan.h"

#include <algorithm>
#include <string>

#include "cnntrain/base/error.h"
#include "insight/plan/order_statistics.h"

namespace cnntrain::plan {
namespace {

constexpr int kBitsOfSum = 32;

/// Each rank exchanges data with all others; the `local` ranks of a node share its link.
double flat_ms(const Network& network, double ranks, double local, double bytes, int wire_bits) {
    const double remote = ranks - local;
    const double message_bytes = bytes * wire_bits / kBitsOfSum / ranks;
    const double latencies_ms =
        remote * network.between_nodes.latency_ms + (local - 1) * network.inside_node.latency_ms;
    const double transfer_ms = message_bytes * (local * remote / network.between_nodes.bytes_per_ms +
                                                (local - 1) / network.inside_node.bytes_per_ms);
    const double added_bytes = (ranks - 1) / ranks * bytes + (wire_bits < kBitsOfSum ? 2 * bytes : 0);
    return 2 * latencies_ms + 2 * transfer_ms + added_bytes * network.adding_ms_per_byte;
}

/// Time of a sum within a node: the ranks synchronise three times, copy a bucket to and from shared memory, and add
/// their shares.
double in_node_ms(const Network& network, double local, double bytes) {
    constexpr double kMeetings = 3;
    return kMeetings * network.inside_node.latency_ms + (2 + (local - 1) / local) * bytes * network.adding_ms_per_byte;
}

void check(const Network& network, const ProcessGrid& grid, const ReduceMethod& method) {
    CNNTRAIN_CHECK(grid.processes >= 1 && grid.ranks_per_node >= 1, "processes and ranks of a node");
    CNNTRAIN_CHECK(method.wire_bits == 32 || method.wire_bits == 16,
                   std::to_string(method.wire_bits) + " bits on the wire");
    for (const Link& link : {network.between_nodes, network.inside_node}) {
        CNNTRAIN_CHECK(link.latency_ms >= 0 && link.bytes_per_ms > 0, "latency and bandwidth of a network");
    }
}

}  // namespace

double all_reduce_ms(const Network& network, const ProcessGrid& grid, const ReduceMethod& method, double bytes) {
    check(network, grid, method);
    if (grid.processes == 1) return 0;
    const std::int64_t local = std::min(grid.processes, grid.ranks_per_node);
    if (!method.hierarchical || local == 1) {
        return flat_ms(network, static_cast<double>(grid.processes), static_cast<double>(local), bytes,
                       method.wire_bits);
    }
    const std::int64_t nodes = (grid.processes + local - 1) / local;
    const double in_node = in_node_ms(network, static_cast<double>(local), bytes);
    return nodes == 1 ? in_node : in_node + flat_ms(network, static_cast<double>(nodes), 1, bytes, method.wire_bits);
}

DataParallelTime data_parallel_time(const ProcessStep& step, std::span<const ReadyBucket> buckets,
                                    const Network& network, const ProcessGrid& grid, const ReduceMethod& method,
                                    const Waits& waits) {
    CNNTRAIN_CHECK(step.total_ms() > 0, "a step takes time");
    DataParallelTime result;
    double done_ms = 0;  // since the start of the last backward pass, as all times here
    for (const ReadyBucket& bucket : buckets) {
        CNNTRAIN_CHECK(bucket.ready_ms <= step.backward_ms, "gradients are there when backward has ended");
        const double sum_ms = all_reduce_ms(network, grid, method, bucket.bytes);
        done_ms = std::max(done_ms, method.overlap ? bucket.ready_ms : step.backward_ms) + sum_ms;
        result.communication_ms += sum_ms;
    }
    const double exposed_ms = grid.processes == 1 ? 0 : std::max(0.0, done_ms - step.backward_ms);
    const double slowest_ms = waits.deviation_ms * expected_maximum(grid.processes);
    result.step_ms = std::max(step.total_ms() + slowest_ms + exposed_ms, waits.input_ms);
    result.hidden_ms = std::max(0.0, result.communication_ms - exposed_ms);
    result.samples_per_second = 1e3 * step.samples * static_cast<double>(grid.processes) / result.step_ms;
    result.efficiency = std::max(step.total_ms(), waits.input_ms) / result.step_ms;
    return result;
}

}  // namespace cnntrain::plan
