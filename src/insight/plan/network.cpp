#include "cnntrain/insight/plan.h"

#include <vector>

#include "cnntrain/base/text.h"
#include "insight/plan/report.h"

namespace cnntrain::plan {
namespace {

constexpr double kMsPerSecond = 1e3;

Link link_of(const comm::LinkFit& fit) {
    return {fit.latency_seconds * kMsPerSecond, fit.bytes_per_second / kMsPerSecond};
}

ReduceMethod method_of(const comm::ReduceOptions& options) {
    return {.wire_bits = options.wire == comm::Wire::bf16 ? 16 : 32,
            .hierarchical = options.route == comm::Route::hierarchical};
}

std::string fit_text(const std::vector<comm::TimedMessage>& messages, const std::string& where) {
    if (messages.empty()) return "";
    const comm::LinkFit fit = comm::fit_link(messages);
    return where + " " + link_text(link_of(fit)) + " (residual " + percent(fit.residual) + "); ";
}

}  // namespace

Network network_of(const comm::NetworkTimes& times) {
    Network network;
    if (!times.between_nodes.empty()) network.between_nodes = link_of(comm::fit_link(times.between_nodes));
    if (!times.inside_node.empty()) network.inside_node = link_of(comm::fit_link(times.inside_node));
    network.adding_ms_per_byte = times.adding_seconds_per_byte * kMsPerSecond;
    return network;
}

std::string link_text(const Link& link) {
    return formatted("latency %.3g us, %.3g GB/s", link.latency_ms * 1e3, link.bytes_per_ms * kMsPerSecond / 1e9);
}

std::string measured_text(const comm::NetworkTimes& times) {
    return fit_text(times.between_nodes, "between nodes") + fit_text(times.inside_node, "inside a node") +
           formatted("adding %.3g GB/s", 1e-9 / times.adding_seconds_per_byte);
}

std::string sums_text(const comm::NetworkTimes& times, const ProcessGrid& grid) {
    const Network network = network_of(times);
    TextRows rows = {{"bucket bytes"}};
    for (const comm::TimedSum& sum : times.sums) {
        const std::string bytes = formatted("%.0f", sum.bytes);
        const bool next_size = rows.size() == 1 || rows.back().front() != bytes;
        if (next_size) rows.push_back({bytes});
        const ReduceMethod method = method_of(sum.options);
        if (rows.size() == 2) {
            const std::string name =
                (method.hierarchical ? "hierarchical " : "flat ") + std::to_string(method.wire_bits);
            rows.front().insert(rows.front().end(), {name + " us", "model us", "ratio"});
        }
        const double model_seconds = all_reduce_ms(network, grid, method, sum.bytes) / kMsPerSecond;
        rows.back().insert(rows.back().end(),
                           {formatted("%.1f", sum.seconds * 1e6), formatted("%.1f", model_seconds * 1e6),
                            formatted("%.2f", model_seconds / sum.seconds)});
    }
    return in_columns(rows);
}

}  // namespace cnntrain::plan
