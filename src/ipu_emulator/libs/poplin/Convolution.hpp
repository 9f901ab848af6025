#pragma once

#include <cstddef>
#include <memory>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <poplin/ConvParams.hpp>

namespace ipu_emulator {
struct Access;
struct PlanKeys;
}  // namespace ipu_emulator

namespace poplin {

/// Remembers plans, so that equal convolutions and products are planned once.
class PlanningCache {
public:
    PlanningCache();
    ~PlanningCache();
    PlanningCache(const PlanningCache&) = delete;
    PlanningCache& operator=(const PlanningCache&) = delete;

    /// Distinct plans.
    std::size_t size() const;

private:
    friend struct ipu_emulator::Access;
    std::unique_ptr<ipu_emulator::PlanKeys> keys_;
};

// Activations are [batch][groups channels][field...], weights [groups][out][in][kernel...], all of the params' input
// type. With half inputs and partialsType half, sums are rounded to half after 16 input channels (or the rest) of one
// kernel position, input channels outermost; with float, once at the end. disableSRForAMPVertices: the former to
// nearest-even. Throws poputil::poplibs_error for shapes that do not fit, invalid_option.

poplar::Tensor createWeights(poplar::Graph& graph, const ConvParams& params,
                             const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {},
                             PlanningCache* cache = nullptr);
poplar::Tensor createInput(poplar::Graph& graph, const ConvParams& params,
                           const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {},
                           PlanningCache* cache = nullptr);

/// transposeAndFlipWeights: `weights` are the weights of the forward pass, whose input gradient this convolution is.
poplar::Tensor convolution(poplar::Graph& graph, const poplar::Tensor& in, const poplar::Tensor& weights,
                           const ConvParams& params, bool transposeAndFlipWeights, poplar::program::Sequence& prog,
                           const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {},
                           PlanningCache* cache = nullptr);
/// `params`: of the forward pass. Groups of 16 products run over batch and field.
poplar::Tensor calculateWeightDeltas(poplar::Graph& graph, const poplar::Tensor& zDeltas,
                                     const poplar::Tensor& activations, const ConvParams& params,
                                     poplar::program::Sequence& prog, const poplar::DebugContext& debugContext = {},
                                     const poplar::OptionFlags& options = {}, PlanningCache* cache = nullptr);

}  // namespace poplin
