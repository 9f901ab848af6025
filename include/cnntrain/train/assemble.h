// From settings to what a backend wants to know.
#pragma once

#include <cstdint>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/config/settings.h"
#include "cnntrain/data/field.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/schedule/update_plan.h"

namespace cnntrain::train {

/// Error(usage) for lanes that would have nothing to do, or no thread.
schedule::UpdatePlan update_plan(const config::Settings& settings);
/// `fields`: of the source that will feed the graph. `plan`: update_plan(), or {} for a graph that is only evaluated.
/// `seed`: of the rounding and of dropout.
backend::CompileRequest compile_request(const graph::Graph& graph, const config::Settings& settings,
                                        std::vector<data::Field> fields, const schedule::UpdatePlan& plan,
                                        std::uint64_t seed);

/// What a training shares with the other processes.
backend::Peers peers(const config::Settings& settings, comm::Communicator& communicator);

}  // namespace cnntrain::train
