// Where parameters, their slots and states are kept, and the copies of weights that other steps read.
//
// The prepare section makes the copies after a load and after an update. A copy is wanted while nodes are lowered;
// emit_copies() adds the steps when all readers are known.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/cpu/lower/graph_layouts.h"
#include "backend/cpu/lower/step_builder.h"
#include "backend/cpu/run/gradient_exchange.h"

namespace cnntrain::cpu {

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
    /// `count` floats that make(from, to) computes from the copy in layout `from` whenever it changes; `name` tells
    /// those of one weight apart.
    using Make = std::function<void(const Placed& from, const Placed& to)>;
    Placed computed(graph::ValueId value, const Desc& from, const std::string& name, std::int64_t count, Make make);
    /// A vector as floats: a parameter or state of rank 1, or a cast of one.
    Placed float_vector(graph::ValueId value);
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

}  // namespace cnntrain::cpu
