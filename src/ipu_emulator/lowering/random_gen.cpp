#include <poprand/RandomGen.hpp>

#include "ipu_emulator/lowering/support.h"
#include "ipu_emulator/numerics/random.h"

namespace poprand {

using namespace ipu_emulator;

void setSeed(poplar::Graph& graph, const poplar::Tensor& masterSeed, std::uint32_t seedModifier,
             poplar::program::Sequence& prog, const poplar::DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "setSeed");
    require(masterSeed.numElements() == 2 && masterSeed.elementType() == poplar::UNSIGNED_INT, name,
            "expected a seed of two unsigned integers, got " + masterSeed.shapeToString());
    add_op(prog, {.name = name, .reads = {masterSeed}, .run = [seedModifier, tiles = Access::tiles(graph)](OpRun& run) {
                      std::uint32_t words[2];
                      run.read(0).load(0, 2, words);
                      const std::uint64_t seed = mix(words[0] | (std::uint64_t{words[1]} << 32), seedModifier);
                      for (const unsigned tile : tiles)
                          seed_tile(seed, tile, &run.state().seeds[std::size_t{tile} * kWordsPerTile]);
                  }});
}

}  // namespace poprand
