// Numbers of classes, rows and pixels: as a tensor, and whether there is such a class or row.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <poplar/Tensor.hpp>
#include <poplar/Type.hpp>
#include <poplin/Convolution.hpp>
#include <popops/Expr.hpp>

#include "cnntrain/base/tensor.h"
#include "cnntrain/graph/activation.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::ipu {

// The context in which a node is lowered, and the tables of lowerings by kind of node.
//
// The tensor of a value has the shape of the value's descriptor. Where PopLibs wants another order of axes, a lowering
// takes views (dimShuffle), which cost nothing; the order in memory follows from the function that made the tensor.

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::OpKind;
using graph::Phase;
using graph::Role;
using graph::ValueId;

/// The tensors of a graph's values on the IPUs.
class DeviceValues {
public:
    explicit DeviceValues(const Graph& graph)
        : graph_(graph), tensors_(static_cast<std::size_t>(graph.value_count())) {}

    bool has(ValueId value) const { return tensors_.at(index(value)).valid(); }
    /// Error(internal) before set().
    const poplar::Tensor& of(ValueId value) const;
    /// Error(internal) unless the tensor has the descriptor of the value.
    void set(ValueId value, const poplar::Tensor& tensor);
    /// Lets later readers use another tensor: of the same contents, of their sum over micro-batches, or a shard of it.
    void replace(ValueId value, const poplar::Tensor& tensor) { tensors_.at(index(value)) = tensor; }

private:
    static std::size_t index(ValueId value) { return static_cast<std::size_t>(value.index); }

    const Graph& graph_;
    std::vector<poplar::Tensor> tensors_;
};

/// The user's choices for the operations of a slot.
struct LoweringOptions {
    poplar::OptionFlags convolutions = {};  // of every pass
    poplar::OptionFlags products = {};      // matrix products
    std::size_t table_slices = 1;           // of products with the table of words
    bool stable_norm = true;

    poplar::OptionFlags convolution(const char* pass) const { return with(convolutions, "pass", pass); }
    poplar::OptionFlags product(const char* pass) const { return with(products, "fullyConnectedPass", pass); }

private:
    static poplar::OptionFlags with(poplar::OptionFlags options, const char* name, const char* value) {
        options.set(name, value);
        return options;
    }
};

/// Key words of the samples of a micro-batch, by site of dropout or drop-connect: the host streams them in.
using SiteKeys = std::map<std::uint64_t, poplar::Tensor>;  // UNSIGNED_INT [N][2]

/// The replicas of the device, and the values that they divide among them.
struct Replicas {
    unsigned count = 1;
    unsigned norm_span = 1;  // consecutive replicas that share batch-norm statistics; divides the count
    /// Indices of values of which the update has only the replica's shard: flat, with zeros beyond the tensor's end.
    std::set<std::int32_t> sharded = {};
};

// Inputs of update; scaled_update has kFactor too, and the slots follow.
namespace update_input {
inline constexpr std::size_t kTarget = 0;
inline constexpr std::size_t kGradient = 1;
inline constexpr std::size_t kLearningRate = 2;
inline constexpr std::size_t kStep = 3;
inline constexpr std::size_t kLossScaling = 4;
inline constexpr std::size_t kFactor = 5;
}  // namespace update_input

/// A scalar that nodes of the update compute from others: its formula, and the attributes and inputs that enter it.
struct UpdateScalar {
    enum class Formula : std::uint8_t { gradient_scale, rate, correction };

    Formula formula;
    std::vector<double> attributes;
    std::vector<ValueId> inputs;
    auto operator<=>(const UpdateScalar&) const = default;  // NOLINT(modernize-use-nullptr)
};
/// The scalars of one IPU: the first node that needs one computes it, later ones read it.
using UpdateScalars = std::map<UpdateScalar, poplar::Tensor>;

/// A lowering reads the node's operands, sets its results and adds to the program.
class NodeContext {
public:
    const Graph& graph;
    const Node& node;
    poplar::Graph& device;               // tiles of the node's stage
    poplar::program::Sequence& program;  // of the node's phase and stage
    DeviceValues& values;
    poplin::PlanningCache& plans;
    const SiteKeys& keys;
    const Replicas& replicas;
    const LoweringOptions& options;
    UpdateScalars& update_scalars;  // of the IPU; for nodes of the update only

    template <typename A> const A& attrs() const { return node.as<A>(); }
    std::size_t inputs() const { return node.inputs.size(); }
    const poplar::Tensor& input(std::size_t i) const { return values.of(node.inputs.at(i)); }
    /// True if the input of an update node is this replica's shard.
    bool is_sharded(std::size_t i) const { return replicas.sharded.contains(node.inputs.at(i).index); }
    const TensorDesc& input_desc(std::size_t i) const { return graph.desc(node.inputs.at(i)); }
    const TensorDesc& output_desc(std::size_t i = 0) const { return graph.desc(node.outputs.at(i)); }
    poplar::Type output_type(std::size_t i = 0) const;
    void set_output(std::size_t i, const poplar::Tensor& tensor) const { values.set(node.outputs.at(i), tensor); }
    poplar::DebugContext debug() const { return poplar::DebugContext(node.name); }

    /// The tensor itself if it has this type.
    poplar::Tensor cast(const poplar::Tensor& tensor, const poplar::Type& type) const;
    /// The formula of the elements of the operands, which broadcast.
    poplar::Tensor map(const popops::expr::Expr& formula, const std::vector<poplar::Tensor>& operands) const;
    /// The sum along the axes.
    poplar::Tensor sum(const poplar::Tensor& tensor, const std::vector<std::size_t>& axes,
                       const poplar::Type& type) const;
    poplar::Tensor sum(const poplar::Tensor& tensor, const std::vector<std::size_t>& axes) const {
        return sum(tensor, axes, tensor.elementType());
    }
};

using LowerFunction = void (*)(const NodeContext&);

/// Everything that a lowering needs to make an operand in the layout that PopLibs plans for it.
struct AllocationContext {
    const Graph& graph;
    const Node& node;
    poplar::Graph& device;
    poplin::PlanningCache& plans;
    const LoweringOptions& options;
};
/// A new tensor with the descriptor of the node's input `index`, or an invalid one if any layout will do.
using AllocateFunction = poplar::Tensor (*)(const AllocationContext&, std::size_t index);

struct LoweringEntry {
    OpKind kind;
    LowerFunction lower;
    AllocateFunction allocate = nullptr;
};

/// The entry of an op kind, or null if this backend has none.
const LoweringEntry* lowering_of(OpKind kind);

// The tables that lowering_of() searches, one per family file.
std::span<const LoweringEntry> attention_lowerings();
std::span<const LoweringEntry> conv_lowerings();
std::span<const LoweringEntry> dense_lowerings();
std::span<const LoweringEntry> gate_lowerings();
std::span<const LoweringEntry> loss_lowerings();
std::span<const LoweringEntry> norm_lowerings();
std::span<const LoweringEntry> pointwise_lowerings();
std::span<const LoweringEntry> proxy_norm_lowerings();
std::span<const LoweringEntry> token_lowerings();
std::span<const LoweringEntry> update_lowerings();
std::span<const LoweringEntry> view_lowerings();

/// The constant INT [1][count]: 0, 1, 2, ...
poplar::Tensor numbers_up_to(const NodeContext& node, std::size_t count);

/// The operand in 32 bits.
inline popops::expr::Cast as_float(const popops::expr::Expr& operand) {
    return {operand, poplar::FLOAT};
}

/// BOOL: whether an INT number, of a class or a row, is in 0..count-1.
popops::expr::Any in_range(const popops::expr::Expr& number, std::size_t count);

// Descriptors of the graph as Poplar's types and shapes.

/// False for types that tiles do not compute with: f64, bf16, i64.
bool has_device_type(DType type);
/// Error(internal) unless has_device_type().
poplar::Type device_type(DType type);
std::vector<std::size_t> extents(const Shape& shape);

// Sums of exponentials along the last axis, from which softmax and log-sum-exp follow.

struct Exponentials {
    poplar::Tensor values;    // FLOAT [...,C]: exp(x - the row's largest x)
    poplar::Tensor sums;      // FLOAT [...]: of the values
    poplar::Tensor log_sums;  // FLOAT [...]: log(sum of exp(x))
};

/// Computes the exponentials of x [...,C], HALF or FLOAT.
Exponentials exponentials(const NodeContext& node, const poplar::Tensor& x);

// Views in the orders of axes that PopLibs wants.

/// [N,H,W,C] as [N,C,H,W].
inline poplar::Tensor channels_second(const poplar::Tensor& image) {
    return image.dimShuffle({0, 3, 1, 2});
}

/// [N,C,H,W] as [N,H,W,C].
inline poplar::Tensor channels_last(const poplar::Tensor& image) {
    return image.dimShuffle({0, 2, 3, 1});
}

/// [...,C] as a matrix of rows.
inline poplar::Tensor rows(const poplar::Tensor& x) {
    return x.flatten(0, static_cast<unsigned>(x.rank()) - 1);
}

// Activations as PopLibs' non-linearities.

poplar::Tensor activated(const NodeContext& node, graph::Activation activation, const poplar::Tensor& x);

/// dy times the slope. `at` is y where graph::slope_follows_from_result(), else x; of dy's shape.
poplar::Tensor times_slope(const NodeContext& node, graph::Activation activation, const poplar::Tensor& at,
                           const poplar::Tensor& dy);

// Dropout and drop-connect: random words from the key words that the host streams in.

enum class Draw : std::uint8_t {
    per_element,  // the word's index is the element's row-major index within its sample
    per_sample,   // the word's index is 0
};

/// x[N,...] as random_scale defines it (graph/op.h): x / keep where the word of `site` keeps the element, else 0. The
/// result has x's type.
poplar::Tensor randomly_scaled(const NodeContext& node, std::uint64_t site, double keep, const poplar::Tensor& x,
                               Draw draw = Draw::per_element);
/// The same, per element, plus an addend like x; rounded to x's type once.
poplar::Tensor randomly_scaled_sum(const NodeContext& node, std::uint64_t site, double keep, const poplar::Tensor& x,
                                   const poplar::Tensor& addend);
/// BOOL, like x: which elements randomly_scaled() keeps. For several tensors that the same words scale.
poplar::Tensor randomly_kept(const NodeContext& node, std::uint64_t site, double keep, const poplar::Tensor& x);
/// randomly_scaled() of x, per element, by these.
poplar::Tensor scaled_where_kept(const NodeContext& node, const poplar::Tensor& kept, double keep,
                                 const poplar::Tensor& x);

}  // namespace cnntrain::ipu
