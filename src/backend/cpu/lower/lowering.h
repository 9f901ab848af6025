// From graph nodes to program steps: where each value lies in memory, in which layout, and what computes it.
//
// Nodes are lowered in the order in which their sections run, so that memory is never reused before its last reader.
// One function per op kind (lower_*.cpp) reads its operands through a Lowering, defines its results and adds steps. Layouts
// are propagated: a convolution takes its input as it lies and says how it wants to write its output; everything else
// works on any layout that keeps some channels together.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/onednn.h"
#include "backend/cpu/program/program.h"
#include "backend/cpu/run/gradient_exchange.h"
#include "backend/cpu/run/lanes.h"
#include "cnntrain/backend/backend.h"
#include "cnntrain/base/error.h"
#include "cnntrain/graph/facts.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::cpu {

class Lowering {
public:
    /// `exchange`: of what is summed over ranks; null where there is no other rank.
    Lowering(const graph::Graph& graph, const backend::CompileRequest& request, const OneDnn& onednn, Program& program,
             GradientExchange* exchange);

    /// Adds the steps of every node that runs once per weight update before the micro-batches.
    void lower_prepare();
    /// Adds the steps of a copy's forward and backward nodes; primitives are made for the threads of each site's lane.
    void lower_copy(std::int32_t copy, const Lanes& lanes);
    /// Adds the steps of the update and, after everything has said which copies of weights it reads, makes these; afterwards the
    /// program can be finished.
    void lower_update();

    // What the op lowerings use ------------------------------------------------------------------------------------------
    const graph::Graph& graph() const { return graph_; }
    const backend::CompileRequest& request() const { return request_; }
    const OneDnn& onednn() const { return onednn_; }
    Program& program() { return program_; }
    const graph::Node& node() const { return graph_.node(current_); }
    /// Where the steps of the current node go.
    Section section() const { return section_of(current_); }

    /// The value for the current node, where and how it lies: an image or a kernel in any layout, anything else row-major. A
    /// value of another class that the node takes as an image is one.
    Placed operand(graph::ValueId value);
    /// Anything but a kernel, row-major with the axes of its shape.
    Placed in_order(graph::ValueId value);
    /// The same in any order of strides, gaps included.
    Placed strided(graph::ValueId value);
    /// Where and how the value lies.
    Placed as_it_lies(graph::ValueId value);
    graph::Layout layout(graph::ValueId value) const { return facts_.layout(value); }
    /// [n][blocks][pixels][lanes] of an operand of any class whose last axis is its channels.
    Blocks channel_blocks(graph::ValueId value, const Placed& tensor) const;
    /// The value in this layout and type; a reorder step is added (once per value and layout) when it lies otherwise.
    Placed operand_as(graph::ValueId value, const Desc& wanted, const std::string& reason);
    /// A value whose elements lie in the order of its shape, taken as the matrix `view`, in a layout of that matrix; a reorder step is
    /// added (once per value and layout) unless it lies so.
    Placed relaid(graph::ValueId value, const Desc& view, const Desc& wanted, const std::string& reason);
    /// Memory for a copy of a value in another layout, which the current node's own step makes and operand_as() and relaid() give
    /// from then on.
    Placed define_copy(graph::ValueId value, const Desc& wanted);
    /// A parameter, its cast, or a folded weight, kept ready in this layout and type by the prepare section.
    /// With `merged` > 1 the copy is that of the kernel whose groups are merged by so many (block-diagonal, zeros between).
    Placed prepared(graph::ValueId value, const Desc& wanted, std::int64_t merged = 1);
    /// The two copies of a parameter that tile products read, made in one pass.
    struct TileCopies {
        Placed right, turned;
    };
    /// Those of this parameter, where it has both: the current node, which updates it, must make them as well.
    std::optional<TileCopies> take_tile_copies(graph::ValueId parameter);
    /// A per-channel vector as floats: a parameter or state of rank 1, or what is derived of one.
    Placed float_vector(graph::ValueId value);
    /// Where a parameter or state itself is kept. The first caller decides the layout, if it has a wish.
    Placed master(graph::ValueId value, std::optional<Desc> wish = std::nullopt);

    /// The layout that convolutions chose for this type, for values that do not inherit one.
    Desc preferred_activation(const TensorDesc& tensor) const;
    void prefer_activation(const Desc& desc) { preferred_ = desc; }
    /// True when some channel count is no multiple of what blocked layouts need: then all activations are channels-last, so
    /// that no neighbours disagree.
    bool channels_last() const { return channels_last_; }

    /// A slot that is kept like its parameter.
    Placed slot_master(graph::ValueId slot, graph::ValueId parameter);

    /// Of the sums over ranks; null where there is no other rank.
    GradientExchange* exchange() { return exchange_; }
    /// The number of the sum over ranks that a gradient is, where each rank updates a piece of its parameter.
    std::optional<std::size_t> sharded_sum(graph::ValueId gradient, const Placed& as_read) const;
    /// A slot of which this rank keeps its piece.
    Placed sharded_slot(graph::ValueId slot, graph::ValueId parameter, std::size_t sum);

    /// Memory for a result of the current node.
    Placed define(graph::ValueId result, const Desc& desc);
    /// The result takes over the memory of a value for which dies_here() is true.
    Placed define_over(graph::ValueId result, const Desc& desc, graph::ValueId dying);
    /// True when the current node is the last reader of this intermediate value and may overwrite it with `desc`.
    bool dies_here(graph::ValueId value, const Desc& desc) const;
    /// define_over when it dies here, else define.
    Placed define_or_reuse(graph::ValueId result, const Desc& desc, graph::ValueId candidate);
    /// Does anything read it? A result that nothing reads needs no memory.
    bool is_read(graph::ValueId result) const;
    /// False where a result must have memory of its own, to be read after the micro-batch.
    bool may_alias(graph::ValueId result) const;
    /// The result is a view of memory that other values have, too.
    void define_alias(graph::ValueId result, const Placed& view);
    Placed temporary(const std::string& name, const Desc& desc, DType dtype);
    Placed temporary_floats(const std::string& name, std::int64_t count);

    /// Adds a step of the current node.
    void add_step(std::string implementation, std::vector<Placed> reads, std::vector<Placed> writes,
                  std::function<void(const StepContext&)> run);
    /// The same, which runs after all steps of the optimiser that have been added until the last of them.
    void add_late_step(std::string implementation, std::vector<Placed> reads, std::vector<Placed> writes,
                       std::function<void(const StepContext&)> run);
    /// Adds a step of its own name that moves data for the current node.
    void add_copy_step(const std::string& op, const Placed& from, const Placed& to,
                       std::function<void(const StepContext&)> run);
    void add_copy_primitive(const std::string& op, const Primitive& primitive, const Placed& from, const Placed& to);
    void add_primitive(const Primitive& primitive, const Arguments& arguments, const std::vector<int>& written);
    /// Adds a step that runs a primitive of one thread on several lists of arguments side by side.
    void add_parts(const Primitive& primitive, const std::vector<Arguments>& parts, const std::vector<int>& written);
    /// Where the gradients of several micro-batches are summed.
    struct OwnSum {
        Placed placed;
        bool begins = true;  // the current node is the first one that adds to it
        bool ends = true;    // and the last one
    };
    /// The sum over the micro-batches and ranks that the update reads in the place of this result, where nothing else reads
    /// the result: then the current node adds to it itself, in a step made with summing(). It lies as `desc` says. Empty where
    /// it cannot.
    std::optional<OwnSum> own_sum(graph::ValueId result, const Desc& desc);
    /// run(is_first) when it is this micro-batch's turn to add to the sum; is_first: what the sum holds is of no use.
    std::function<void(const StepContext&)> summing(const OwnSum& sum, std::function<void(bool is_first)> run) const;
    /// c = a * b, or in the further micro-batches c += a * b, where c is such a sum. The two primitives take the same arguments.
    void add_summing_primitive(const OwnSum& sum, const Primitive& first, const Primitive& further,
                               const Arguments& arguments);

    /// Memory for sums of a gradient's squares, one for each of so many parts of it, where the norm of all gradients is wanted and the
    /// current node knows the gradient as the update will read it; else nothing. The node writes them in each micro-batch.
    Placed place_squares(graph::ValueId gradient, std::int64_t parts);
    /// What the gradient's node has placed so; nothing: it has not.
    Placed squares_of(graph::ValueId gradient) const;

    /// Room for `count` floats while the step runs; valid once the program is finished.
    std::function<std::span<float>()> scratch_floats(std::int64_t count);

    /// The workspace of the max pooling that read `x`, so that its gradient finds it.
    std::map<graph::ValueId, Placed>& pool_workspaces() { return pool_workspaces_; }

    // What the executable needs ------------------------------------------------------------------------------------------
    const std::vector<std::string>& reorders() const { return reorders_; }
    /// Row-major descriptor of a value as users see it.
    Desc row_major_desc(graph::ValueId value) const;
    /// Of the copy that was lowered last.
    Section section_of(graph::NodeId id) const;
    /// Any value of that copy as a section sees it.
    Placed seen_from(Section section, graph::ValueId value) const;

private:
    struct PreparedCopy {
        graph::ValueId root;
        Placed copy;
        std::int64_t merged = 1;
        bool by_update = false;  // the parameter's update makes it, too
    };

    void order_nodes();
    void lower(graph::NodeId id);
    /// A step of the current node that does nothing yet.
    Step empty_step(std::string name, std::string op, double flops) const;
    std::int32_t position_of(graph::NodeId id) const { return position_[static_cast<std::size_t>(id.index)]; }
    /// Error(internal) when the current node reads what a later section writes.
    void check_order() const;
    void find_kernel_groups();
    void find_channels();
    void find_slots_of_kernels();
    void place_inputs();
    /// Does the update read sums, of several micro-batches or ranks, and not the results of a single micro-batch?
    bool updates_from_sums() const { return program_.plan().micro_batches > 1 || exchange_ != nullptr; }
    void accumulate_crossing_results();
    void accumulate(graph::ValueId result);
    void emit_prepared_copies();
    const PreparedCopy* turned_partner(const Placed& source, const PreparedCopy& right) const;
    bool emit_prepared_copy(const Placed& source, const PreparedCopy& wanted);
    Placed as_floats(graph::ValueId root, const Placed& kept);
    /// A step that widens a bfloat16 tensor into one that lies alike.
    void emit_cast_to_floats(const Placed& from, const Placed& to);
    /// A step that merges the groups of a kernel; the result is row-major.
    Placed emit_merged_kernel(graph::ValueId root, const Placed& source, std::int64_t merged);
    void add_shared_steps();
    bool is_output(graph::ValueId value) const;
    bool is_read_at_end(graph::ValueId result) const;
    bool is_taken_as_image(graph::ValueId value) const;
    Placed reordered(graph::ValueId value, const Placed& now, const Desc& wanted, const std::string& reason);
    Placed place(const std::string& name, const Desc& desc, DType dtype, Storage storage);
    /// What any site may have placed, as a section sees it.
    Placed seen_from(Section section, Placed placed) const;

    const graph::Graph& graph_;
    const backend::CompileRequest& request_;
    const OneDnn& onednn_;
    Program& program_;
    GradientExchange* exchange_;
    graph::Facts facts_;
    std::vector<graph::NodeId> order_;    // of execution
    std::vector<std::int32_t> position_;  // by node: its place in order_
    graph::NodeId current_;
    std::int32_t copy_ = 0;       // of the current node
    std::vector<Placed> placed_;  // by value; of the copy
    std::map<graph::ValueId, std::vector<Placed>> reordered_;
    /// Over the micro-batches, as updates read it.
    struct Sum {
        Placed placed;
        std::size_t turn = 0;      // of the copies that add to it
        std::size_t number = 0;    // among the sums over ranks
        bool is_added_to = false;  // by the ops themselves
    };
    Sum make_sum(const std::string& name, const Desc& desc);
    /// The result that the update reads and that the current section's ops make of this one by adding to it; often itself.
    graph::ValueId summed_result(graph::ValueId result) const;
    const Sum& sum_at(const Placed& placed) const;
    std::map<graph::ValueId, Sum> sums_;        // by result that crosses into the update
    std::map<graph::ValueId, Placed> squares_;  // of parts of gradients
    std::map<graph::ValueId, Placed> masters_;
    std::map<graph::ValueId, Placed> float_vectors_;
    std::map<graph::ValueId, Placed> floats_;  // 16-bit weights as prepared copies are made of them
    std::vector<Step> late_steps_;             // of the update
    std::vector<Buffer*> sharded_slots_;
    std::set<const Buffer*> viewed_;  // read by several values
    /// Of every value that convolutions read as weights; 0: a [1,1,I,O] that dense layers read as a matrix.
    std::map<graph::ValueId, std::int64_t> kernel_groups_;
    bool channels_last_ = false;
    std::map<graph::ValueId, Placed> pool_workspaces_;
    std::vector<PreparedCopy> prepared_;
    std::vector<std::string> reorders_;
    std::optional<Desc> preferred_;  // of the last convolution's output
};

/// The lowering of an op kind, or null where this backend has none.
using LowerFunction = void (*)(Lowering&);
LowerFunction lowering_of(graph::OpKind kind);

struct LoweringEntry {
    graph::OpKind kind;
    LowerFunction lower;
};

// The tables that lowering_of() searches, one per family file.
std::span<const LoweringEntry> attention_lowerings();
std::span<const LoweringEntry> conv_lowerings();
std::span<const LoweringEntry> dense_lowerings();
std::span<const LoweringEntry> gate_lowerings();
std::span<const LoweringEntry> loss_lowerings();
std::span<const LoweringEntry> matmul_lowerings();
std::span<const LoweringEntry> mixing_lowerings();
std::span<const LoweringEntry> norm_lowerings();
std::span<const LoweringEntry> pointwise_lowerings();
std::span<const LoweringEntry> proxy_norm_lowerings();
std::span<const LoweringEntry> token_lowerings();
std::span<const LoweringEntry> update_lowerings();
std::span<const LoweringEntry> view_lowerings();

/// [n][blocks][pixels][lanes] of an image [N,C,H,W] or of [N,C]; Error(internal) for a layout without channel lanes.
Blocks blocks_of(const Placed& tensor);
/// The layout of `like` for other dims (same rank and channel order).
Desc like_activation(const Desc& like, const TensorDesc& tensor);

/// Calls f.template operator()<float>() or <BFloat16>.
template <typename F> void with_float_type(DType type, F&& f) {
    if (type == DType::f32) {
        f.template operator()<float>();
    } else {
        CNNTRAIN_CHECK(type == DType::bf16, "the cpu backend computes in f32 and bf16");
        f.template operator()<BFloat16>();
    }
}

}  // namespace cnntrain::cpu
