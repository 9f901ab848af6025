// Memory and layouts of the values between nodes: the operands and results of the node that is being lowered.
//
// Layouts propagate. A convolution reads its input in the layout in which it was written and chooses the layout of its
// output; other nodes work on any layout that keeps some channels together.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/cpu/lower/step_builder.h"
#include "backend/cpu/run/exchange.h"

namespace cnntrain::cpu {

// Memory of parameters, their slots and states, and of the copies of weights that other steps read.
//
// The prepare section makes the copies after a load and after an update. A copy is wanted while nodes are lowered;
// emit_copies() adds the steps when all readers are known.

class Weights {
public:
    Weights(const NodeWalk& walk, const GraphLayouts& layouts, const OneDnn& onednn, Program& program,
            StepBuilder& steps);

    /// The memory of a parameter or state. The first caller decides the layout, if it has a wish.
    Placed master(graph::ValueId value, std::optional<Desc> wish = std::nullopt);
    /// The memory of a slot, in the layout of its parameter.
    Placed slot_master(graph::ValueId slot, graph::ValueId parameter);
    /// The memory of this rank's piece of a slot. `sum`: number of the parameter's gradient among the sums over ranks.
    Placed sharded_slot(graph::ValueId slot, graph::ValueId parameter, std::size_t sum);
    /// Sizes the pieces of slots when the exchange has been planned.
    void size_pieces(const GradientExchange& exchange);

    /// A copy of a parameter, its cast, or a folded weight, in this layout and type.
    /// With `merged` > 1, groups of the kernel are merged by so many (block-diagonal, zeros between).
    Placed prepared(graph::ValueId value, const Desc& wanted, std::int64_t merged = 1);
    /// `count` floats that make(from, to) computes from the copy in layout `from` whenever it changes; `name`
    /// distinguishes several of them of one weight.
    using Make = std::function<void(const Placed& from, const Placed& to)>;
    Placed computed(graph::ValueId value, const Desc& from, const std::string& name, std::int64_t count, Make make);
    /// A vector as floats: a parameter or state of rank 1, or a cast of one.
    Placed float_vector(graph::ValueId value);
    /// Memory that a step computes from results of the prepare section whenever these change.
    Placed made(const std::string& name, const TensorDesc& desc, std::vector<Placed> reads,
                std::function<void(const Placed& to)> make);
    /// Such memory in another layout.
    Placed laid_out(const Placed& made, const Desc& wanted);
    /// The two copies of a parameter that tile products read, made together.
    struct TileCopies {
        Placed right, turned;
    };
    /// The tile copies of this parameter, if it has both. The current node, which updates the parameter, must then
    /// make them.
    std::optional<TileCopies> take_tile_copies(graph::ValueId parameter);

    /// Adds the steps that make all copies. `folded`: where a weight that the prepare section computes is kept.
    void emit_copies(const std::function<Placed(graph::ValueId)>& folded);
    /// Layout changes made by emit_copies(), for inspection.
    const std::vector<std::string>& reorders() const { return reorders_; }

private:
    struct PreparedCopy {
        graph::ValueId root;
        Placed copy;
        std::int64_t merged = 1;
        bool by_update = false;  // the parameter's update makes it, too
    };

    struct Computed {
        Placed from, to;
        Make make;
    };

    const graph::Graph& graph() const { return walk_.graph(); }
    const PreparedCopy* turned_partner(const Placed& source, const PreparedCopy& right) const;
    bool emit_copy(const Placed& source, const PreparedCopy& wanted);
    Placed as_floats(graph::ValueId root, const Placed& kept);
    void emit_computed();
    void emit_cast_to_floats(const Placed& from, const Placed& to);
    Placed emit_merged_kernel(graph::ValueId root, const Placed& source, std::int64_t merged);

    const NodeWalk& walk_;
    const GraphLayouts& layouts_;
    const OneDnn& onednn_;
    Program& program_;
    StepBuilder& steps_;
    std::map<graph::ValueId, Placed> masters_;
    std::map<graph::ValueId, Placed> float_vectors_;
    std::map<graph::ValueId, Placed> floats_;  // 16-bit weights as floats, from which prepared copies are made
    std::vector<PreparedCopy> prepared_;
    std::vector<Computed> computed_;
    std::vector<Buffer*> sharded_slots_;
    std::vector<std::string> reorders_;
};

/// A product of activations, or of their gradient, and gates whose reader multiplies x by the gates.
struct GatedValue {
    Placed x, gate;
};

/// Sums over the pixels of each sample and channel in parts: [parts, N, C]. Empty: there are none.
struct PixelSums {
    Placed sums;
    std::int64_t parts = 0;
};

/// PartStatistics of a value. Empty: there are none.
struct PlacedStatistics {
    Placed values;
    std::vector<std::int64_t> pixels;  // of each part
};

class Values {
public:
    /// `are_summed`: does the update read sums over micro-batches or ranks in place of the results of a micro-batch?
    Values(const NodeWalk& walk, const GraphLayouts& layouts, const OneDnn& onednn, Program& program,
           StepBuilder& steps, Weights& weights, bool are_summed);

    /// Forgets what the last pipeline computed; inputs and results of the prepare section stay.
    void begin_pipeline();

    // Operands --------------------------------------------------------------------------------------------------------
    /// The operand as the current node takes it: images and kernels in any layout, anything else row-major. A value of
    /// another class that the node takes as an image becomes one.
    Placed operand(graph::ValueId value);
    /// The operand in this layout and type. A reorder step is added if needed, once per value and layout.
    Placed operand_as(graph::ValueId value, const Desc& wanted, const std::string& reason);
    /// Any operand but a kernel, row-major with the axes of its shape.
    Placed in_order(graph::ValueId value);
    /// Like in_order(), with strides of any order, gaps included.
    Placed strided(graph::ValueId value);
    /// The value in the layout in which it is kept.
    Placed as_it_lies(graph::ValueId value);
    /// A value in the order of its shape, seen as the matrix `view`, in a layout of that matrix. A reorder step is
    /// added if needed, once per value and layout.
    Placed relaid(graph::ValueId value, const Desc& view, const Desc& wanted, const std::string& reason);
    /// Memory for a copy of a value in another layout. The current node's step must fill it; operand_as() and
    /// relaid() return it from then on.
    Placed define_copy(graph::ValueId value, const Desc& wanted);
    /// A vector of one number per channel as floats: a variable, its cast, or a folded bias.
    Placed float_vector(graph::ValueId value);

    // Results ---------------------------------------------------------------------------------------------------------
    /// Memory for a result of the current node.
    Placed define(graph::ValueId result, const Desc& desc);
    /// Row-major, with the axes of its shape.
    Placed define(graph::ValueId result);
    /// Gives the result the memory of a value for which dies_here() is true.
    Placed define_over(graph::ValueId result, const Desc& desc, graph::ValueId dying);
    /// True if the current node is the last reader of this intermediate value and may overwrite it with `desc`.
    bool dies_here(graph::ValueId value, const Desc& desc) const;
    /// define_over() if the candidate dies here, else define().
    Placed define_or_reuse(graph::ValueId result, const Desc& desc, graph::ValueId candidate);
    /// Makes the result a view of memory that other values have, too.
    void define_alias(graph::ValueId result, const Placed& view);
    /// False if the result needs memory of its own because it is read after the micro-batch.
    bool may_alias(graph::ValueId result) const;
    /// Workspace of the max pooling that read `x`, for its gradient; empty until the pooling sets it.
    Placed& workspace(graph::ValueId x) { return workspaces_[x]; }

    /// Leaves the product to its only reader, which asks for it by gated().
    void define_gated(graph::ValueId result, const GatedValue& product) { gated_[result] = product; }
    std::optional<GatedValue> gated(graph::ValueId value) const;
    /// Leaves the gradient of a global average to its only reader: every pixel gets its share of `vector`, [N,C].
    void define_spread(graph::ValueId result, const Placed& vector) { spread_[result] = vector; }
    /// Empty if the value is kept as it is.
    Placed spread(graph::ValueId value) const;
    /// Is a global average of this value wanted in this section?
    bool is_averaged(graph::ValueId value) const;
    /// Sums of a node's result, for its global average; empty until the node sets them.
    PixelSums& pixel_sums(graph::ValueId y) { return pixel_sums_[y]; }
    /// Is this value normalised by its own statistics in this section?
    bool is_normalised(graph::ValueId value) const;
    /// Memory for statistics of the current node's result, which the norm after it reads; `pixels`: of each part.
    Placed define_statistics(graph::ValueId y, std::vector<std::int64_t> pixels);
    /// The statistics that the node of this value has summed. A norm that another section recomputes reads them, too,
    /// so that its result is the same.
    PlacedStatistics statistics(graph::ValueId value) const;

    /// The layout that the last convolution chose, for values that inherit none.
    Desc preferred_activation(const TensorDesc& tensor) const;
    void prefer_activation(const Desc& desc) { preferred_ = desc; }

    // Queries after lowering ------------------------------------------------------------------------------------------
    /// A value of the pipeline lowered last, as a section sees it.
    Placed seen_from(Section section, graph::ValueId value) const;
    /// Layout changes of pipeline 0, for inspection.
    const std::vector<std::string>& reorders() const { return reorders_; }

private:
    const graph::Graph& graph() const { return walk_.graph(); }
    Placed& placed(graph::ValueId value) { return placed_[static_cast<std::size_t>(value.index)]; }
    const Placed& placed(graph::ValueId value) const { return placed_[static_cast<std::size_t>(value.index)]; }
    void place_inputs();
    /// Does the current section have a reader of this value of which `matches` is true?
    template <typename Matches> bool has_reader(graph::ValueId value, const Matches& matches) const;
    bool is_taken_as_image(graph::ValueId value) const;
    bool is_read_at_end(graph::ValueId result) const;
    Placed reordered(graph::ValueId value, const Placed& now, const Desc& wanted, const std::string& reason);
    Placed seen_from(Section section, Placed tensor) const;

    const NodeWalk& walk_;
    const GraphLayouts& layouts_;
    const OneDnn& onednn_;
    Program& program_;
    StepBuilder& steps_;
    Weights& weights_;
    bool are_summed_;
    std::vector<Placed> placed_;                               // by value; intermediates belong to the current pipeline
    std::map<graph::ValueId, std::vector<Placed>> reordered_;  // copies in other layouts
    std::map<graph::ValueId, Placed> workspaces_;
    std::map<graph::ValueId, GatedValue> gated_;
    std::map<graph::ValueId, Placed> spread_;
    std::map<graph::ValueId, PixelSums> pixel_sums_;
    std::map<graph::ValueId, PlacedStatistics> statistics_;
    std::set<const Buffer*> viewed_;  // read by several values
    std::optional<Desc> preferred_;   // layout of the last convolution's output
    std::vector<std::string> reorders_;
};

}  // namespace cnntrain::cpu
