#include "ipu_emulator/lowering/support.h"

#include <poplar/CSRFunctions.hpp>
#include <poplar/RandomSeed.hpp>
#include <poplin/codelets.hpp>
#include <popnn/codelets.hpp>
#include <popops/codelets.hpp>
#include <poprand/codelets.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

#include "ipu_emulator/numerics/random.h"

namespace ipu_emulator {

void require(bool good, const std::string& function, const std::string& what) {
    if (!good) throw poputil::poplibs_error(function + ": " + what);
}

std::string op_name(const poplar::DebugContext& debugContext, const std::string& function) {
    const std::string name = debugContext.getPathName();
    return name.empty() ? function : name + "/" + function;
}

poplar::Tensor broadcast_to(const poplar::Tensor& t, const std::vector<std::size_t>& shape,
                            const std::string& function) {
    if (t.shape() == shape) return t;
    const auto wrong = "the shape " + t.shapeToString() + " cannot be broadcast to " + shape_text(shape);
    require(t.rank() <= shape.size(), function, wrong);
    const std::size_t added = shape.size() - t.rank();
    poplar::Tensor result = t.expand(std::vector<std::size_t>(added, 0));
    for (unsigned dim = 0; dim < shape.size(); ++dim) {
        if (result.dim(dim) == shape[dim]) continue;
        require(result.dim(dim) == 1, function, wrong);
        result = result.broadcast(static_cast<unsigned>(shape[dim]), dim);
    }
    return result;
}

bool is_float(poplar::Type type) {
    return type.isFloatingPoint();
}

poplar::Tensor channels_last(const poplar::Tensor& t) {
    return t.rank() < 3 ? t : t.dimRoll(1, static_cast<unsigned>(t.rank()) - 1);
}

poplar::Tensor channels_second(const poplar::Tensor& t) {
    return t.rank() < 3 ? t : t.dimRoll(static_cast<unsigned>(t.rank()) - 1, 1);
}

poplar::Tensor new_activations(poplar::Graph& graph, poplar::Type type, const std::vector<std::size_t>& shape,
                               const std::string& name) {
    std::vector<std::size_t> last = shape;
    if (last.size() > 2) {
        last.erase(last.begin() + 1);
        last.push_back(shape[1]);
    }
    return channels_second(new_tensor(graph, type, last, name));
}

const float* load_all(OpRun& run, const Operand& operand) {
    if (operand.type() == poplar::FLOAT && operand.contiguous() != nullptr)
        return reinterpret_cast<const float*>(operand.contiguous());
    auto* values = run.scratch<float>(operand.count());
    run.in_pieces(operand.count(), 16 * kChunk,
                  [&](std::size_t begin, std::size_t count) { operand.load(begin, count, values + begin); });
    return values;
}

}  // namespace ipu_emulator

// The emulator has no codelets.
namespace popops {
void addCodelets(poplar::Graph&) {}
}  // namespace popops
namespace poplin {
void addCodelets(poplar::Graph&) {}
}  // namespace poplin
namespace popnn {
void addCodelets(poplar::Graph&) {}
}  // namespace popnn
namespace poprand {
void addCodelets(poplar::Graph&) {}
}  // namespace poprand

namespace poputil {
void mapTensorLinearly(poplar::Graph& graph, const poplar::Tensor& t) {
    ipu_emulator::map_linearly(graph, t);
}
}  // namespace poputil

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
