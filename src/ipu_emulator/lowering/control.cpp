#include <poplar/CSRFunctions.hpp>
#include <poplar/RandomSeed.hpp>

#include <cstring>

#include "ipu_emulator/lowering/support.h"
#include "ipu_emulator/numerics/random.h"

namespace poplar {

using namespace ipu_emulator;

void setFloatingPointBehaviour(Graph& graph, program::Sequence& prog, const FloatingPointBehaviour& behaviour,
                               const DebugContext& debugContext) {
    const Control control{.trap_invalid = behaviour.inv,
                          .trap_division = behaviour.div0,
                          .trap_overflow = behaviour.oflo,
                          .stochastic = behaviour.esr,
                          .nan_on_overflow = behaviour.nanoo};
    add_op(prog, {.name = op_name(debugContext, "setFloatingPointBehaviour"),
                  .reads = {},
                  .writes = {},
                  .run = [control, tiles = Access::tiles(graph)](OpRun& run) {
                      for (const unsigned tile : tiles)
                          run.state().control[tile] = control;
                  }});
}

void setStochasticRounding(Graph& graph, program::Sequence& prog, bool enable, const DebugContext& debugContext) {
    add_op(prog, {.name = op_name(debugContext, "setStochasticRounding"),
                  .reads = {},
                  .writes = {},
                  .run = [enable, tiles = Access::tiles(graph)](OpRun& run) {
                      for (const unsigned tile : tiles)
                          run.state().control[tile].stochastic = enable;
                  }});
}

namespace {

// Bits of a tile's control word.
constexpr std::uint32_t kInvBit = 1;
constexpr std::uint32_t kDiv0Bit = 2;
constexpr std::uint32_t kOfloBit = 4;
constexpr std::uint32_t kEsrBit = 8;
constexpr std::uint32_t kNanooBit = 16;

std::uint32_t word_of(const FloatingPointBehaviour& b) {
    return (b.inv ? kInvBit : 0) | (b.div0 ? kDiv0Bit : 0) | (b.oflo ? kOfloBit : 0) | (b.esr ? kEsrBit : 0) |
           (b.nanoo ? kNanooBit : 0);
}

std::uint32_t word_of(const Control& c) {
    return word_of(
        FloatingPointBehaviour(c.trap_invalid, c.trap_division, c.trap_overflow, c.stochastic, c.nan_on_overflow));
}

Control control_of(std::uint32_t word) {
    return {.trap_invalid = (word & kInvBit) != 0,
            .trap_division = (word & kDiv0Bit) != 0,
            .trap_overflow = (word & kOfloBit) != 0,
            .stochastic = (word & kEsrBit) != 0,
            .nan_on_overflow = (word & kNanooBit) != 0};
}

}  // namespace

Tensor getAndModifyFloatingPointBehaviour(Graph& graph, program::Sequence& prog, const FloatingPointBehaviour& clear,
                                          const FloatingPointBehaviour& set, const DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "getAndModifyFloatingPointBehaviour");
    const Tensor before = new_tensor(graph, UNSIGNED_INT, {Access::tiles(graph).size()}, name);
    add_op(prog, {.name = name,
                  .writes = {before},
                  .run = [cleared = word_of(clear), added = word_of(set), tiles = Access::tiles(graph)](OpRun& run) {
                      for (std::size_t i = 0; i < tiles.size(); ++i) {
                          Control& control = run.state().control[tiles[i]];
                          const std::uint32_t word = word_of(control);
                          run.write().store_bytes(i, 1, &word);
                          control = control_of((word & ~cleared) | added);
                      }
                  }});
    return before;
}

void setFloatingPointBehaviour(Graph& graph, program::Sequence& prog, const Tensor& behaviour,
                               const DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "setFloatingPointBehaviour");
    const std::vector<std::size_t> shape{Access::tiles(graph).size()};
    require(behaviour.shape() == shape && behaviour.elementType() == UNSIGNED_INT, name,
            "expected unsigned integers " + shape_text(shape) + ", got " + behaviour.shapeToString());
    add_op(prog, {.name = name, .reads = {behaviour}, .run = [tiles = Access::tiles(graph)](OpRun& run) {
                      for (std::size_t i = 0; i < tiles.size(); ++i)
                          run.state().control[tiles[i]] =
                              control_of(static_cast<std::uint32_t>(run.read(0).integer(i)));
                  }});
}

Tensor getHwSeeds(Graph& graph, program::Sequence& prog, const DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "getHwSeeds");
    const Tensor seeds = new_tensor(graph, UNSIGNED_INT, {Access::tiles(graph).size(), kWorkers, 4}, name);
    add_op(prog, {.name = name, .reads = {}, .writes = {seeds}, .run = [tiles = Access::tiles(graph)](OpRun& run) {
                      for (std::size_t i = 0; i < tiles.size(); ++i) {
                          const std::uint32_t* words = &run.state().seeds[std::size_t{tiles[i]} * kWordsPerTile];
                          run.write().store_bytes(i * kWordsPerTile, kWordsPerTile, words);
                      }
                  }});
    return seeds;
}

void setHwSeeds(Graph& graph, const Tensor& seeds, program::Sequence& prog, const DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "setHwSeeds");
    const std::vector<std::size_t> shape{Access::tiles(graph).size(), kWorkers, 4};
    require(seeds.shape() == shape && seeds.elementType() == UNSIGNED_INT, name,
            "expected unsigned integers " + shape_text(shape) + ", got " + seeds.shapeToString());
    add_op(prog, {.name = name, .reads = {seeds}, .writes = {}, .run = [tiles = Access::tiles(graph)](OpRun& run) {
                      for (std::size_t i = 0; i < tiles.size(); ++i) {
                          std::uint32_t* words = &run.state().seeds[std::size_t{tiles[i]} * kWordsPerTile];
                          run.read(0).load_bytes(i * kWordsPerTile, kWordsPerTile, words);
                      }
                  }});
}

}  // namespace poplar
