// 32-bit masters of 16-bit variables (optim::Master) at the start of a run: they hold the variable's own value, unrounded.
#pragma once

#include <cstdint>

#include "cnntrain/backend/backend.h"
#include "cnntrain/checkpoint/checkpoint.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::train {

/// Draws them and their variables anew; after initialise() of everything.
void initialise_masters(backend::Executable& executable, const graph::Graph& graph, std::uint64_t seed);

/// From the variables' values in a checkpoint that holds the model.
void load_masters(backend::Executable& executable, const graph::Graph& graph, const checkpoint::Checkpoint& checkpoint);

}  // namespace cnntrain::train
