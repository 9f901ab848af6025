// From settings to what a backend is asked for. No files, no clocks.
#pragma once

#include <cstdint>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/comm/communicator.h"
#include "cnntrain/config/settings.h"
#include "cnntrain/data/field.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/schedule/update_plan.h"

namespace cnntrain::train {

/// The plan of a training in this process, with one update per call.
schedule::UpdatePlan update_plan(const config::Settings& settings);
/// The settings of a training that only CPUs know.
backend::CpuSettings cpu_settings(const config::Settings& settings);
/// How the backend computes the weight updates of a training. Error(usage) for settings that it cannot follow: lanes
/// that would have nothing to do, for one.
schedule::Placement placement(const config::Settings& settings, const backend::Backend& backend);

/// For a graph that is only evaluated. `fields`: of the source that will feed the graph. `seed`: of the rounding and of
/// dropout.
backend::CompileRequest compile_request(const graph::Graph& graph, const config::Settings& settings,
                                        std::vector<data::Field> fields, std::uint64_t seed);
/// For a graph that is trained, with update_plan().
backend::CompileRequest training_request(const graph::Graph& graph, const config::Settings& settings,
                                         std::vector<data::Field> fields, std::uint64_t seed);

/// What a training shares with the other processes.
backend::Peers peers(const config::Settings& settings, comm::Communicator& communicator);

}  // namespace cnntrain::train
