// Builds compile requests for backends from settings. Uses no files and no clocks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/comm/communicator.h"
#include "cnntrain/config/settings.h"
#include "cnntrain/data/field.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/schedule/update_plan.h"

namespace cnntrain::train {

/// The update plan of a training run in this process, with one update per call.
schedule::UpdatePlan update_plan(const config::Settings& settings);
/// Settings of a training run that only the CPU backend uses.
backend::CpuSettings cpu_settings(const config::Settings& settings);
/// Settings of a training run that only the IPU backend uses.
backend::IpuSettings ipu_settings(const config::Settings& settings);
/// IPUs of each replica of a plan.
std::int64_t ipus_of_replica(const schedule::UpdatePlan& plan);
/// For example "4, emulated: 2 replicas of 2 IPUs, 2 stages each".
std::string ipus_text(const schedule::UpdatePlan& plan, bool emulated);
/// How the backend executes the weight updates of a training run. Throws Error(usage) for settings it cannot follow,
/// such as lanes without work.
schedule::Placement placement(const config::Settings& settings, const backend::Backend& backend);

/// For a graph that is only evaluated. `fields`: of the source that feeds the graph. `seed`: for stochastic rounding
/// and dropout.
backend::CompileRequest compile_request(const graph::Graph& graph, const config::Settings& settings,
                                        std::vector<data::Field> fields, std::uint64_t seed);
/// For a graph that is trained, with update_plan().
backend::CompileRequest training_request(const graph::Graph& graph, const config::Settings& settings,
                                         std::vector<data::Field> fields, std::uint64_t seed);

/// The connection of a training run to its other processes.
backend::Peers peers(const config::Settings& settings, comm::Communicator& communicator);

}  // namespace cnntrain::train
