// Between executables and checkpoints. A 16-bit variable may have a 32-bit master (optim::Master), which starts with
// the variable's own value, unrounded.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "cnntrain/backend/backend.h"
#include "cnntrain/checkpoint/checkpoint.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/metrics/rows.h"

namespace cnntrain::train {

/// Draws every parameter and state of the graph anew.
void initialise(backend::Executable& executable, const graph::Graph& graph, std::uint64_t seed);

/// The variables of a process that trains alone, each of which is copied when it is asked for. `executable` must
/// outlive it.
checkpoint::TensorSource variable_source(const backend::Executable& executable);
/// Every variable of the executable, in its stored type.
std::map<std::string, HostTensor> stored_variables(const backend::Executable& executable);

/// Everything that the graph holds, from a checkpoint that must hold exactly that. Error(data) lists all differences.
void load_all(backend::Executable& executable, const graph::Graph& graph, const checkpoint::Checkpoint& checkpoint,
              const std::string& path);

/// The model's own variables, in the graph's types: optimiser slots, `<variable>/<slot>`, are neither needed nor looked
/// at.
std::map<std::string, HostTensor> model_variables(const graph::Graph& graph, checkpoint::Checkpoint checkpoint,
                                                  const std::string& path);
/// The same, drawn anew.
std::map<std::string, HostTensor> initial_variables(const graph::Graph& graph, std::uint64_t seed);

/// A BERT checkpoint of Hugging Face's transformers in the variables of the graph; any other as it is. Error(data)
/// names tensors that are missing.
checkpoint::Checkpoint in_own_layout(checkpoint::Checkpoint checkpoint, const graph::Graph& graph,
                                     const std::string& path);

/// Does the checkpoint hold a tensor for every slot of the graph?
bool holds_slots(const graph::Graph& graph, const checkpoint::Checkpoint& checkpoint);

/// Loads model_variables().
void load_model(backend::Executable& executable, const graph::Graph& graph, checkpoint::Checkpoint checkpoint,
                const std::string& path);

/// Draws the masters and their variables anew; after initialise() of everything.
void initialise_masters(backend::Executable& executable, const graph::Graph& graph, std::uint64_t seed);

/// Loads the masters from the variables' values in a checkpoint that holds the model.
void load_masters(backend::Executable& executable, const graph::Graph& graph, const checkpoint::Checkpoint& checkpoint);

metrics::NanRow count_nans(std::int64_t iteration, const checkpoint::TensorSource& tensors);

}  // namespace cnntrain::train
