#include <poplar/CSRFunctions.hpp>
#include <poplar/RandomSeed.hpp>

#include "ipu_emulator/lowering/support.h"
#include "ipu_emulator/numerics/random.h"

namespace poplar {

using namespace ipu_emulator;

namespace {

std::uint32_t word_of(const FloatingPointBehaviour& b) {
    const unsigned traps = (b.inv ? kInvalid : 0u) | (b.div0 ? kDivision : 0u) | (b.oflo ? kOverflowed : 0u);
    return Control{.traps = traps, .stochastic = b.esr, .nan_on_overflow = b.nanoo}.word();
}

/// Adds an operation that calls body(run, tile, the tile's number in the graph) for each tile of the graph.
template <class Body> void add_tile_op(Graph& graph, program::Sequence& prog, HostOp op, Body body) {
    op.run = [body, tiles = Access::tiles(graph)](OpRun& run) {
        for (std::size_t i = 0; i < tiles.size(); ++i)
            body(run, tiles[i], i);
    };
    add_op(prog, std::move(op));
}

/// Throws poplibs_error unless `t` has unsigned integers of this shape.
void check_words(const std::string& name, const Tensor& t, const std::vector<std::size_t>& shape) {
    require(t.shape() == shape && t.elementType() == UNSIGNED_INT, name,
            "expected unsigned integers " + shape_text(shape) + ", got " + t.shapeToString());
}

std::uint32_t* seeds_of(OpRun& run, unsigned tile) {
    return &run.state().seeds[std::size_t{tile} * kWordsPerTile];
}

}  // namespace

void setFloatingPointBehaviour(Graph& graph, program::Sequence& prog, const FloatingPointBehaviour& behaviour,
                               const DebugContext& debugContext) {
    add_tile_op(graph, prog, {.name = op_name(debugContext, "setFloatingPointBehaviour")},
                [word = word_of(behaviour)](OpRun& run, unsigned tile, std::size_t) {
                    run.state().control[tile] = Control::of(word);
                });
}

void setStochasticRounding(Graph& graph, program::Sequence& prog, bool enable, const DebugContext& debugContext) {
    add_tile_op(graph, prog, {.name = op_name(debugContext, "setStochasticRounding")},
                [enable](OpRun& run, unsigned tile, std::size_t) { run.state().control[tile].stochastic = enable; });
}

Tensor getAndModifyFloatingPointBehaviour(Graph& graph, program::Sequence& prog, const FloatingPointBehaviour& clear,
                                          const FloatingPointBehaviour& set, const DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "getAndModifyFloatingPointBehaviour");
    Tensor before = new_tensor(graph, UNSIGNED_INT, {Access::tiles(graph).size()}, name);
    add_tile_op(graph, prog, {.name = name, .writes = {before}},
                [cleared = word_of(clear), added = word_of(set)](OpRun& run, unsigned tile, std::size_t i) {
                    Control& control = run.state().control[tile];
                    const std::uint32_t word = control.word();
                    run.write().store_bytes(i, 1, &word);
                    control = Control::of((word & ~cleared) | added);
                });
    return before;
}

void setFloatingPointBehaviour(Graph& graph, program::Sequence& prog, const Tensor& behaviour,
                               const DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "setFloatingPointBehaviour");
    check_words(name, behaviour, {Access::tiles(graph).size()});
    add_tile_op(graph, prog, {.name = name, .reads = {behaviour}}, [](OpRun& run, unsigned tile, std::size_t i) {
        run.state().control[tile] = Control::of(static_cast<std::uint32_t>(run.read(0).integer(i)));
    });
}

Tensor getHwSeeds(Graph& graph, program::Sequence& prog, const DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "getHwSeeds");
    Tensor seeds = new_tensor(graph, UNSIGNED_INT, {Access::tiles(graph).size(), kWorkers, 4}, name);
    add_tile_op(graph, prog, {.name = name, .writes = {seeds}}, [](OpRun& run, unsigned tile, std::size_t i) {
        run.write().store_bytes(i * kWordsPerTile, kWordsPerTile, seeds_of(run, tile));
    });
    return seeds;
}

void setHwSeeds(Graph& graph, const Tensor& seeds, program::Sequence& prog, const DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "setHwSeeds");
    check_words(name, seeds, {Access::tiles(graph).size(), kWorkers, 4});
    add_tile_op(graph, prog, {.name = name, .reads = {seeds}}, [](OpRun& run, unsigned tile, std::size_t i) {
        run.read(0).load_bytes(i * kWordsPerTile, kWordsPerTile, seeds_of(run, tile));
    });
}

}  // namespace poplar
