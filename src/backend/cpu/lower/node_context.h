// The context in which a node is lowered, and the tables of lowerings by kind of node.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/lower/step_builder.h"
#include "backend/cpu/lower/sums.h"
#include "cnntrain/backend/backend.h"

namespace cnntrain::cpu {

struct NodeContext {
    const graph::Graph& graph;
    const graph::Node& node;
    const backend::CompileRequest& request;
    const OneDnn& onednn;
    const NodeWalk& walk;
    const GraphLayouts& layouts;
    StepBuilder& steps;
    Weights& weights;
    Values& values;
    Sums& sums;
    std::int64_t micro_batches;  // executions of the graph per weight update
};

/// Adds a step that runs run.operator()<T>(context) for the type's T, which is float or BFloat16.
template <typename Run> void add_typed(const NodeContext& lower, DType type, std::string implementation,
                                       std::vector<Placed> reads, std::vector<Placed> writes, Run run) {
    with_float_type(type, [&]<typename T>() {
        lower.steps.add(std::move(implementation), std::move(reads), std::move(writes),
                        [run](const StepContext& context) { run.template operator()<T>(context); });
    });
}

/// True if only a norm's gradient reads this result of the current node, as dy or as one of its two summands: it makes
/// the result of smaller tensors as it reads them.
bool is_left_to_norm(const NodeContext& lower, graph::ValueId result);

/// True if only `quantise` reads the image that this node normalises: it makes numbers of the pixels at once.
bool is_left_to_quantise(const graph::Graph& graph, const graph::Node& normalised);

/// Reads the node's operands, defines its results and adds its steps.
using LowerFunction = void (*)(const NodeContext&);

inline constexpr bool kPrimitive = true;

struct LoweringEntry {
    graph::OpKind kind;
    LowerFunction lower;
    bool is_primitive = false;  // of oneDNN, whose bfloat16 needs AVX-512
};

// The tables that lowering_of() searches, one per family file.
std::span<const LoweringEntry> attention_lowerings();
std::span<const LoweringEntry> conv_lowerings();
std::span<const LoweringEntry> dense_lowerings();
std::span<const LoweringEntry> gate_lowerings();
std::span<const LoweringEntry> loss_lowerings();
std::span<const LoweringEntry> norm_lowerings();
std::span<const LoweringEntry> pointwise_lowerings();
std::span<const LoweringEntry> proxy_norm_lowerings();
std::span<const LoweringEntry> quantised_lowerings();
std::span<const LoweringEntry> token_lowerings();
std::span<const LoweringEntry> update_lowerings();
std::span<const LoweringEntry> view_lowerings();

}  // namespace cnntrain::cpu
