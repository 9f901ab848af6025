// The weights with which a new training begins.
#pragma once

#include <cstdint>

#include "cnntrain/backend/backend.h"
#include "cnntrain/config/settings.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/metrics/observer.h"
#include "cnntrain/train/runs.h"
#include "cnntrain/train/task.h"

namespace cnntrain::train {

struct FirstWeightsRun {
    const Task& task;
    const config::Settings& settings;
    std::uint64_t seed;
    const Host& host;
    metrics::Observers& observers;
};

/// Draws all weights. The first process then loads the checkpoint of initial weights over them, if one is given, and
/// says in what it differs from the network; the others receive them. Error(usage) for --init-strict.
void load_first_weights(backend::Executable& executable, const graph::Graph& graph, const FirstWeightsRun& run);

}  // namespace cnntrain::train
