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
                  .run = [control, tiles = graph.tiles()](OpRun& run) {
                      for (const unsigned tile : tiles)
                          run.state().control[tile] = control;
                  }});
}

void setStochasticRounding(Graph& graph, program::Sequence& prog, bool enable, const DebugContext& debugContext) {
    add_op(prog, {.name = op_name(debugContext, "setStochasticRounding"),
                  .reads = {},
                  .writes = {},
                  .run = [enable, tiles = graph.tiles()](OpRun& run) {
                      for (const unsigned tile : tiles)
                          run.state().control[tile].stochastic = enable;
                  }});
}

Tensor getHwSeeds(Graph& graph, program::Sequence& prog, const DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "getHwSeeds");
    const Tensor seeds = new_tensor(graph, UNSIGNED_INT, {graph.tiles().size(), kWorkers, 4}, name);
    add_op(prog, {.name = name, .reads = {}, .writes = {seeds}, .run = [tiles = graph.tiles()](OpRun& run) {
                      for (std::size_t i = 0; i < tiles.size(); ++i) {
                          const std::uint32_t* words = &run.state().seeds[std::size_t{tiles[i]} * kWordsPerTile];
                          run.write().store_bytes(i * kWordsPerTile, kWordsPerTile, words);
                      }
                  }});
    return seeds;
}

void setHwSeeds(Graph& graph, const Tensor& seeds, program::Sequence& prog, const DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "setHwSeeds");
    const std::vector<std::size_t> shape{graph.tiles().size(), kWorkers, 4};
    require(seeds.shape() == shape && seeds.elementType() == UNSIGNED_INT, name,
            "expected unsigned integers " + shape_text(shape) + ", got " + seeds.shapeToString());
    add_op(prog, {.name = name, .reads = {seeds}, .writes = {}, .run = [tiles = graph.tiles()](OpRun& run) {
                      for (std::size_t i = 0; i < tiles.size(); ++i) {
                          std::uint32_t* words = &run.state().seeds[std::size_t{tiles[i]} * kWordsPerTile];
                          run.read(0).load_bytes(i * kWordsPerTile, kWordsPerTile, words);
                      }
                  }});
}

}  // namespace poplar
