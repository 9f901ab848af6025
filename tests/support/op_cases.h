// The one list of op cases. It drives the comparison of backends with ref, the numeric gradients, and timing.
//
// A case is a single node with random inputs; where the op has a gradient, its gradient nodes are part of the case too.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/graph/op.h"
#include "support/graph_names.h"
#include "support/tensor_source.h"

namespace cnntrain::test {

enum class Fill {
    uniform,   // in [low, high)
    distinct,  // a permutation of evenly spaced values: no two are equal
    coarse,    // one of four values: many ties
    integers,  // in low..high, both included
    runs,      // along the last axis, each value is the one before, or with the chance `high` one more
};

struct CaseInput {
    std::string name;  // "learning_rate", "step" and "loss_scaling" are scalars
    TensorDesc desc;
    double low = -1;
    double high = 1;
    double gap = 0;  // a kink of the op at 0: no value is nearer to it than this
    Fill fill = Fill::uniform;
    bool computed = false;  // the node reads the sum of two parameters, made in the backward phase
    bool fed = false;       // a field of the batch; otherwise a parameter
    bool fixed = false;     // the op has no gradient for it
};

struct OpCase {
    std::string name;  // "conv2d/3x3_stride2/bf16"
    graph::OpKind kind = graph::OpKind::count_;
    graph::Attrs attrs;
    std::vector<CaseInput> inputs;
    double tolerance = 1e-5;      // of a backend against ref, relative with a floor: see compare_with_ref
    double gradient_step = 1e-4;  // of the numeric gradient; 0: the case sits on kinks, its gradient is only compared
    std::uint64_t seed = 1;
};

/// Every op, in f32 and bf16.
const std::vector<OpCase>& op_cases();

/// The case with IEEE's half in the place of bfloat16.
OpCase in_half(OpCase op_case);

/// The graph of a case. Outputs: "out0", ...; with gradient also "grad/<input>" for every differentiable input, with
/// the parameter "d/out0" as the incoming gradient.
struct CaseGraph {
    graph::Graph graph;
    graph::NodeId node;
    std::map<std::string, graph::ValueId> gradients;  // by input
};
bool has_gradient(const OpCase& op_case, const graph::OpTable& ops = ops::op_table());
CaseGraph build_case(const OpCase& op_case, bool with_gradient, const graph::OpTable& ops = ops::op_table());

/// Values for everything that the case's graph reads, parameters included; a function of the case's seed alone.
std::map<std::string, HostTensor> random_inputs(const OpCase& op_case, const CaseGraph& case_graph);

/// Feeds the tensors that the graph has as inputs.
TensorSource case_source(const graph::Graph& graph, const std::map<std::string, HostTensor>& tensors);

/// Loads the random inputs, runs the case's graph once and returns its outputs, and the new values of what it mutates,
/// by name. Rounding is to nearest. `threads` as in backend::CpuSettings.
std::map<std::string, HostTensor> evaluate_on(const backend::Backend& backend, const OpCase& op_case,
                                              bool with_gradient, int threads = 0);

/// "" when the backend agrees with ref on the case, forward alone and with gradients; otherwise what differs where.
/// |value - ref| <= tolerance * max(|ref|, root mean square of the tensor).
std::string compare_with_ref(const backend::Backend& backend, const OpCase& op_case);

/// compare_with_ref for every case; the texts of those that fail.
std::vector<std::string> check_backend(const backend::Backend& backend);

/// Compares the gradients of the case with central differences in float64, projected onto random output weights.
/// "" when they agree; otherwise input, index and both numbers of every element that differs.
std::string check_gradient(const OpCase& op_case, const graph::OpTable& ops = ops::op_table());

/// Largest disagreement that the numeric gradient tolerates, relative to the larger of both numbers or to a hundredth
/// of the largest gradient of the tensor.
inline constexpr double kGradientTolerance = 1e-5;

}  // namespace cnntrain::test
