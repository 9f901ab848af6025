// Accumulators: sums of gradients and statistics over micro-batches and ranks, which the update reads in place of the
// results of a micro-batch.
//
// Every pipeline adds to the same accumulator in the order of the micro-batches, so that sums do not depend on the
// number of pipelines. A node may compute into an accumulator itself; accumulate_results() adds what is left.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/cpu/lower/values.h"
#include "backend/cpu/run/exchange.h"

namespace cnntrain::cpu {

class Sums {
public:
    /// `exchange`: sums over ranks; null if there is no other rank.
    Sums(const NodeWalk& walk, StepBuilder& steps, Values& values, Program& program, std::int64_t micro_batches,
         GradientExchange* exchange);

    /// Does an update of so many micro-batches read sums in place of the results of a single one?
    static bool are_read(std::int64_t micro_batches, const GradientExchange* exchange) {
        return micro_batches > 1 || exchange != nullptr;
    }

    // Accumulators that a node adds to itself -------------------------------------------------------------------------
    struct Accumulator {
        Placed placed;
        bool begins = true;  // the current node is the first one that adds to it
        bool ends = true;    // and the last one
    };
    /// The accumulator for this result, laid out as `desc`, if only the update reads the result; the current node
    /// adds to it directly, in a step made with summing(). Empty if nothing is summed or something else reads the
    /// result.
    std::optional<Accumulator> accumulator(graph::ValueId result, const Desc& desc);
    /// Calls run(is_first) when it is this micro-batch's turn to add. If is_first, the contents of the accumulator do
    /// not count.
    StepBuilder::Run summing(const Accumulator& sum, std::function<void(bool is_first)> run) const;
    /// Adds a step c = a * b, or c += a * b in later micro-batches, where c is an accumulator. Both primitives take
    /// the same arguments.
    void add_primitives(const Accumulator& sum, const Primitive& first, const Primitive& further,
                        const Arguments& arguments);

    // Gradients that a node overwrites as a whole ---------------------------------------------------------------------
    struct Gradient {
        Placed placed;                   // the accumulator, or the gradient itself if nothing is summed
        std::optional<Accumulator> sum;  // set if `placed` is the accumulator
        Placed addend;                   // written by later micro-batches and then added; empty if there are none
    };
    /// Memory for a gradient. If accumulator() gives one, the first micro-batch writes into it.
    Gradient define_gradient(graph::ValueId result, const Desc& desc);
    /// Adds the step that computes the gradient: run(memory). `op`: of a step that moves data; empty for the node's
    /// own step.
    void add_gradient_step(const Gradient& gradient, const std::string& op, const std::vector<Placed>& reads,
                           const std::function<void(float* to)>& run, const std::string& implementation = "kernel");
    /// The same with a step that has its name, implementation, operands and work.
    void add_gradient_step(const Gradient& gradient, Step step, const std::function<void(float* to)>& run);
    /// The same with a primitive whose argument `written` is the gradient, seen as `view`.
    void add_gradient_primitive(const Gradient& gradient, const Primitive& primitive, const Arguments& operands,
                                int written, const Desc& view);

    /// Memory for sums of squares over `parts` parts of the gradient, if the norm of all gradients is wanted and the
    /// current node computes the gradient as the update reads it; else empty. The node writes them in each
    /// micro-batch.
    Placed place_squares(graph::ValueId gradient, std::int64_t parts);
    /// The memory from place_squares(), or empty.
    Placed squares_of(graph::ValueId gradient) const;

    // Calls after each node and after all nodes -----------------------------------------------------------------------
    /// Adds the current node's results to accumulators, except those that the node adds itself.
    void accumulate_results();
    /// Makes the accumulators the values that nodes of the update read. Until then backward reads its own
    /// micro-batch: the statistics of a batch norm, for instance.
    void give_to_update();

    GradientExchange* exchange() const { return exchange_; }
    /// The number of the gradient's sum over ranks if each rank updates a piece of the parameter.
    std::optional<std::size_t> sharded_sum(graph::ValueId gradient, const Placed& as_read) const;

private:
    struct Sum {
        Placed placed;
        std::size_t turn = 0;      // of the pipelines that add to it
        std::size_t number = 0;    // among the sums over ranks
        bool is_added_to = false;  // by the nodes themselves
    };
    const graph::Graph& graph() const { return walk_.graph(); }
    bool are_summed() const { return are_read(micro_batches_, exchange_) && walk_.section().has_site(); }
    Sum make_sum(const std::string& name, const Desc& desc);
    const Sum& sum_at(const Placed& placed) const;
    graph::ValueId summed_result(graph::ValueId result) const;
    void accumulate(graph::ValueId result);
    void add_gradient(const Gradient& gradient, Step step, std::function<void()> write, std::function<void()> add);

    const NodeWalk& walk_;
    StepBuilder& steps_;
    Values& values_;
    Program& program_;
    std::int64_t micro_batches_;
    GradientExchange* exchange_;
    std::map<graph::ValueId, Sum> sums_;             // by result that crosses into the update
    std::map<graph::ValueId, const Buffer*> added_;  // accumulator by result, of nodes that add to it themselves
    std::map<graph::ValueId, Placed> squares_;       // of parts of gradients
};

}  // namespace cnntrain::cpu
