// The static graph of one weight update: forward and backward of one micro-batch, and the update.
//
// Nodes are kept in topological order by construction. An executor SUMS every value that the forward or backward
// phase produces and the update phase consumes over the micro-batches of an update; it sums scalar outputs likewise.
// Variables persist between updates and are changed only by update ops.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/tensor.h"
#include "cnntrain/graph/op.h"

namespace cnntrain::graph {

template <typename Tag> struct Id {
    std::int32_t index = -1;
    bool valid() const { return index >= 0; }
    auto operator<=>(const Id&) const = default;  // NOLINT(modernize-use-nullptr): the check misreads <=>
};
using NodeId = Id<struct NodeTag>;
using ValueId = Id<struct ValueTag>;
using StageId = Id<struct StageTag>;

enum class Phase : std::uint8_t { forward, backward, update };

enum class Role : std::uint8_t {
    input,           // a micro-batch tensor from the data pipeline
    scalar,          // f32[] set per update: "learning_rate", "step", "loss_scaling"
    parameter,       // trainable, saved
    slot,            // optimiser state of a parameter, its owner; saved
    moving_average,  // average of a statistic over micro-batches; saved
    intermediate,    // produced by a node
};

/// Initial values of a variable. Fans: fan_in = K*K*I, fan_out = K*K*O.
struct Initialiser {
    enum class Kind : std::uint8_t {
        constant,                  // every element = value
        truncated_normal_fan_in,   // sigma = sqrt(value / fan_in) / 0.87962566103423978, cut at 2 sigma
        truncated_normal_fan_out,  // the same with fan_out
        glorot_uniform,            // U(-l, l), l = sqrt(6 / (I + O))
        rows,                      // row r of the first axis = rows[r]
        truncated_normal,          // sigma = value before the cut at 2 sigma
    };
    Kind kind = Kind::constant;
    double value = 0;            // the constant, the variance scale, or sigma
    std::vector<double> rows{};  // Kind::rows
    bool operator==(const Initialiser&) const = default;
};

/// Parameters, slots and moving averages are the graph's variables.
struct Value {
    TensorDesc desc;
    Role role = Role::intermediate;
    std::string name;
    /// slot: the parameter that it belongs to. moving_average: the statistic that it follows (training graphs only).
    ValueId owner{};
    double correction = 1;        // moving_average: factor of the statistic (Bessel's n / (n - 1) for variances)
    NodeId producer{};            // invalid unless intermediate
    int producer_output = 0;      // index among the producer's outputs
    std::vector<NodeId> users{};  // ascending, one entry per consuming node
    Initialiser initialiser{};    // of variables
};

struct Node {
    OpKind kind = OpKind::count_;
    Attrs attrs{};
    std::vector<ValueId> inputs{};
    std::vector<ValueId> outputs{};
    std::string name{};
    Phase phase = Phase::forward;
    StageId stage{0};
    bool recomputed = false;  // a backward-phase copy of a forward node

    template <typename A> const A& as() const { return std::get<A>(attrs); }
};

struct Output {
    std::string name;
    ValueId value;
};

class Graph {
public:
    explicit Graph(const OpTable& ops);

    ValueId add_input(std::string name, TensorDesc desc);
    ValueId add_scalar(std::string name);
    ValueId add_parameter(std::string name, TensorDesc desc, Initialiser initialiser);
    ValueId add_slot(ValueId parameter, std::string name, TensorDesc desc, Initialiser initialiser);
    ValueId add_moving_average(std::string name, TensorDesc desc, Initialiser initialiser);
    /// Adds an input, scalar or variable with the description, role, name and initial values of one of another graph.
    /// `owner`: of a slot.
    ValueId add_like(const Value& value, ValueId owner = {});
    /// Lets the moving average follow correction * statistic.
    void set_followed(ValueId moving_average, ValueId statistic, double correction);

    /// Appends a node; shapes are inferred at once. Error(usage) names the node, the op and all input descriptors.
    /// The node gets the current phase and stage.
    std::vector<ValueId> add(OpKind kind, Attrs attrs, std::vector<ValueId> inputs, std::string name);
    /// Appends a node of an op with exactly one output.
    ValueId add_one(OpKind kind, Attrs attrs, std::vector<ValueId> inputs, std::string name);

    void mark_output(std::string name, ValueId value);

    void set_phase(Phase phase) { phase_ = phase; }
    void set_stage(StageId stage) { stage_ = stage; }
    void set_recomputed(NodeId node) { nodes_[check(node)].recomputed = true; }
    Phase phase() const { return phase_; }
    StageId stage() const { return stage_; }

    const OpTable& ops() const { return *ops_; }
    const OpDef& def(const Node& node) const { return (*ops_)[static_cast<std::size_t>(node.kind)]; }
    const Node& node(NodeId id) const { return nodes_[check(id)]; }
    const Value& value(ValueId id) const { return values_[check(id)]; }
    const TensorDesc& desc(ValueId id) const { return value(id).desc; }
    const std::vector<Node>& nodes() const { return nodes_; }  // in order
    std::int32_t node_count() const { return static_cast<std::int32_t>(nodes_.size()); }
    std::int32_t value_count() const { return static_cast<std::int32_t>(values_.size()); }
    const std::vector<Output>& outputs() const { return outputs_; }
    ValueId output(std::string_view name) const;  // Error(internal) if there is none

    std::vector<ValueId> values_with_role(Role role) const;  // in order of creation
    std::vector<ValueId> variables() const;                  // likewise
    bool is_variable(ValueId id) const;
    std::optional<ValueId> find(std::string_view value_name) const;  // inputs, scalars, variables

    double node_flops(NodeId id) const;

    /// Throws Error(internal) when an invariant is broken: order, use lists, inferred shapes, phases (a node never
    /// reads a later phase; only update nodes overwrite, and only variables), owners, unique names.
    void verify() const;

    /// One line per node: "%12 = conv2d(%3, all/stage0/conv0/weight) {stride 2} : bf16[32, 112, 112, 64]", then
    /// "  # name", the phase and stage where they are not the first, and "recomputed". %n is the value's index.
    std::string to_text() const;

private:
    ValueId add_named(Value value);
    std::size_t check(NodeId id) const;
    std::size_t check(ValueId id) const;

    const OpTable* ops_;
    std::vector<Node> nodes_;
    std::vector<Value> values_;
    std::vector<Output> outputs_;
    std::map<std::string, ValueId, std::less<>> named_;  // inputs, scalars, variables
    Phase phase_ = Phase::forward;
    StageId stage_{0};
};

// Facts derived from a whole graph, computed once.

/// Describes the graph as it was at construction; values added later are unknown.
class Facts {
public:
    explicit Facts(const Graph& graph);

    /// True for variables, and for results of ops with OpDef::follows_weights whose inputs all follow weights. Such a
    /// value changes only when weights change.
    bool follows_weights(ValueId value) const { return follows_weights_.at(index(value)); }

    /// True for a value that is produced per micro-batch and read by the update phase, which sees the sum over the
    /// micro-batches.
    bool crosses_into_update(ValueId value) const { return crosses_into_update_.at(index(value)); }

    /// Results have the layout in their op's row; inputs and parameters the layout that their readers want, through any
    /// casts; slots the layout of their owner. Never Layout::same.
    Layout layout(ValueId value) const { return layouts_.at(index(value)); }

private:
    static std::size_t index(ValueId value) { return static_cast<std::size_t>(value.index); }
    void find_weights(const Graph& graph);
    void find_crossing(const Graph& graph);
    void find_layouts(const Graph& graph);

    std::vector<bool> follows_weights_;
    std::vector<bool> crosses_into_update_;
    std::vector<Layout> layouts_;
};

/// True if this user of the value reads it only where its maxima are. Backends keep these places instead of a pooling's
/// input.
bool reads_places_only(const Graph& graph, NodeId user, ValueId value);

/// The variable that a chain of casts starts from, or the value itself.
ValueId strip_casts(const Graph& graph, ValueId value);

/// The value that an update op reads as gradient of this variable or of its 32-bit master; for a moving average, the
/// statistic. Empty for variables that no update op overwrites by a gradient.
std::optional<ValueId> update_gradient(const Graph& graph, ValueId variable);

// The same computation for another number of samples.

/// N, the leading axis of every input; empty without inputs, or if they differ.
std::optional<std::int64_t> samples_of(const Graph& graph);

/// The forward graph for `samples` samples, with the same ids. Applied to each part of a batch, its outputs f32[] add
/// up to those of the batch, and all others are the batch's parts. Empty if some node does not compute each sample by
/// itself.
std::optional<Graph> with_samples(const Graph& graph, std::int64_t samples);

}  // namespace cnntrain::graph
