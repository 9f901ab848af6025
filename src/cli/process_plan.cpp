#include "cli/process_plan.h"

#include <iostream>
#include <string>

#include "cli/flags.h"
#include "cli/process_words.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/comm/communicator.h"
#include "cnntrain/comm/network.h"
#include "cnntrain/plan/network.h"

namespace cnntrain::cli {
namespace {

constexpr std::string_view kMeasure = "measure";
constexpr std::int64_t kMostRanksPerNode = 10'000;
constexpr double kMostImagesPerSecond = 1e9;
constexpr double kMsPerSecond = 1e3;

std::int64_t ranks_per_node(const Flags& flags, std::int64_t otherwise) {
    return flags.given("--ranks-per-node") ? flags.integer("--ranks-per-node", 1, kMostRanksPerNode) : otherwise;
}

/// Describes the network from the flags; fills in defaults for those not given.
void describe_network(const Flags& flags, plan::ProcessPlan& plan) {
    constexpr double kUsualLatencyMs = 1e-3;
    plan.ranks_per_node = ranks_per_node(flags, 1);
    plan.network.between_nodes = parse_link(flags.text("--network"), "--network");
    const bool rate_given = flags.given("--adding-rate");
    plan.network.adding_ms_per_byte = rate_given ? 1 / parse_bandwidth(flags.text("--adding-rate"), "--adding-rate")
                                                 : comm::adding_seconds_per_byte() * kMsPerSecond;
    const bool node_given = flags.given("--node-network");
    plan.network.inside_node = node_given ? parse_link(flags.text("--node-network"), "--node-network")
                                          : plan::Link{kUsualLatencyMs, 1 / plan.network.adding_ms_per_byte};
    plan.network_from = "between nodes " + plan::link_text(plan.network.between_nodes) + " (as given); ";
    if (plan.ranks_per_node > 1) {
        plan.network_from += "inside a node " + plan::link_text(plan.network.inside_node) +
                             (node_given ? " (as given); " : " (assumed: as fast as adding); ");
    }
    plan.network_from += formatted("adding %.3g GB/s (", kMsPerSecond / 1e9 / plan.network.adding_ms_per_byte) +
                         (rate_given ? "as given)" : "measured here)");
}

/// Measures the network between the ranks that mpirun started. Only rank 0 continues after that.
void measure_network(const Flags& flags, const std::optional<comm::World>& world, plan::ProcessPlan& plan) {
    for (const char* flag : {"--node-network", "--adding-rate"}) {
        if (flags.given(flag)) refuse_line("--network measure measures " + std::string(flag) + ", too; leave it out");
    }
    if (!world || world->size < 2)
        refuse_line("--network measure needs processes to measure between: mpirun -np 2 cnntrain plan ...");
    const auto given = static_cast<int>(ranks_per_node(flags, 0));
    const auto communicator = comm::make_mpi_communicator({.ranks_per_node = given});
    plan.ranks_per_node = given > 0 ? given : communicator->local_size();
    const bool one_node = communicator->local_size() == communicator->size();
    if (one_node && plan.counts.back() > plan.ranks_per_node) {
        refuse_line("--network measure: all " + std::to_string(communicator->size()) +
                    " ranks share a node, so nothing can be measured between nodes, which " +
                    std::to_string(plan.counts.back()) +
                    " processes need; start ranks on several hosts, or count each as a node with --ranks-per-node 1");
    }
    const comm::NetworkTimes times = comm::measure_network(*communicator, {});
    plan.network = plan::network_of(times);
    const plan::ProcessGrid grid{communicator->size(), communicator->local_size()};
    plan.network_from = "measured between " + std::to_string(grid.processes) + " ranks, " +
                        std::to_string(grid.ranks_per_node) + " on a node: " + plan::measured_text(times);
    if (communicator->rank() == 0) {
        std::cout << "Sums of gradients between these ranks, measured and as predicted from the measured messages:\n"
                  << plan::sums_text(times, grid) << '\n';
    }
    communicator->finish();
}

}  // namespace

void check_process_flags(const Flags& flags) {
    if (!flags.given("--processes")) {
        for (const char* flag : {"--network", "--ranks-per-node", "--node-network", "--adding-rate",
                                 "--images-per-second", "--step-spread", "--input-rate"}) {
            if (flags.given(flag)) refuse_line(std::string(flag) + " needs --processes");
        }
        return;
    }
    if (!flags.given("--network"))
        refuse_line("--processes needs --network, such as 100Gbps,1.5us, or 'measure' under mpirun");
    for (const char* flag : {"--stages", "--memory-limit"}) {
        if (flags.given(flag))
            refuse_line(std::string(flag) + " applies to stages, which are not shown with --processes");
    }
}

plan::ProcessPlan process_plan(const Flags& flags, const std::optional<comm::World>& world) {
    plan::ProcessPlan plan;
    plan.counts = parse_processes(flags.text("--processes"));
    if (flags.given("--images-per-second"))
        plan.samples_per_second = flags.number("--images-per-second", 1e-6, kMostImagesPerSecond);
    if (flags.given("--step-spread")) plan.step_spread = parse_share(flags.text("--step-spread"), "--step-spread");
    if (flags.given("--input-rate"))
        plan.input_samples_per_second = flags.number("--input-rate", 1e-6, kMostImagesPerSecond);
    if (flags.text("--network") == kMeasure) {
        measure_network(flags, world, plan);
    } else {
        describe_network(flags, plan);
    }
    return plan;
}

}  // namespace cnntrain::cli
