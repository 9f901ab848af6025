// Default arguments of every free function: the shortest call of each has to compile. Never run.
#pragma once

#include "ipu_emulator/poplar_signatures.h"

namespace poplar_signatures {

inline void poplin_defaults(Graph& graph, Sequence& prog, Tensor& t, const poplin::ConvParams& params) {
    const std::vector<std::size_t> shape{2, 3};
    poplin::createWeights(graph, params);
    poplin::createInput(graph, params);
    poplin::convolution(graph, t, t, params, false, prog);
    poplin::calculateWeightDeltas(graph, t, t, params, prog);
    poplin::getGradientParams(params);
    poplin::matMul(graph, t, t, prog, FLOAT);
    poplin::matMulGrouped(graph, t, t, prog, FLOAT);
    poplin::createMatMulInputRHS(graph, HALF, shape, shape, "");
}

inline void popnn_defaults(Graph& graph, Sequence& prog, Tensor& t, const popnn::pooling::PoolParams& params) {
    const poplin::DistributedNormReduceCallback reduce;
    popnn::bn::distributedBatchNormStatistics(graph, t, 1e-5f, prog, false, reduce, 8);
    popnn::bn::distributedBatchNormGradients(graph, t, t, t, t, prog, reduce, 8);
    popnn::gn::groupNormStatistics(graph, t, 1e-5f, prog, 2, false);
    popnn::ln::layerNormStatistics(graph, t, 1e-5f, prog, false);
    popnn::gn::groupNormGradients(graph, t, t, t, t, prog);
    popnn::ln::layerNormGradients(graph, t, t, t, t, prog);
    const auto relu = popnn::NonLinearityType::RELU;
    popnn::nonLinearity(graph, relu, t, prog);
    popnn::nonLinearityInputGradient(graph, relu, t, t, prog);
    popnn::logSoftmaxInPlace(graph, t, prog);
    popnn::pooling::pool(graph, params, t, prog);
    popnn::pooling::poolInputGradient(graph, params, t, t, t, false, prog);
}

inline void popops_defaults(Graph& graph, Sequence& prog, Tensor& t) {
    using popops::expr::_1;
    popops::neg(graph, t, prog);
    popops::add(graph, t, t, prog);
    popops::addInPlace(graph, t, t, prog);
    popops::mul(graph, t, t, prog);
    popops::mul(graph, t, 1.0f, prog);
    popops::mulInPlace(graph, t, 1.0f, prog);
    popops::varianceToInvStdDev(graph, t, 1.0f, prog);
    popops::invStdDevToVariance(graph, t, 1.0f, prog);
    popops::map(graph, _1 + 1.0f, {t}, prog);
    popops::mapInPlace(graph, _1 + 1.0f, {t}, prog);
    popops::mapWithOutput(graph, _1 + 1.0f, {t}, t, prog);
    popops::cast(graph, t, HALF, prog);
    popops::cast(graph, t, t);
    popops::reduce(graph, t, FLOAT, {0}, {popops::Operation::ADD}, prog);
    popops::reduce(graph, t, {0}, {popops::Operation::ADD}, prog);
    popops::scaledAddTo(graph, t, t, 1.0f, prog);
    popops::zero(graph, t, prog);
    popops::fill(graph, t, prog, 1.0f);
    popops::iota(graph, t, 1u, prog);
    popops::countedForLoop(graph, 0, t, 1, prog);
}

inline void slice_defaults(Graph& graph, Sequence& prog, Tensor& t) {
    const std::vector<std::size_t> dims{0};
    const std::vector<std::size_t> sizes{1};
    const std::vector<std::size_t> shape{4, 2};
    const popops::SlicePlan plan = popops::embedding::plan(graph, HALF, 4, 2, {3}, {});
    popops::createSliceableTensor(graph, HALF, shape, dims, sizes, plan, OptionFlags());
    popops::dynamicSlice(graph, t, t, dims, sizes, prog);
    popops::dynamicUpdate(graph, t, t, t, dims, sizes, prog);
    popops::multiSlice(graph, t, t, dims, sizes, prog, plan, {});
    popops::multiUpdateAdd(graph, t, t, t, t, dims, sizes, prog, plan, {});
}

inline void other_defaults(Graph& graph, Sequence& prog, Tensor& t) {
    poprand::setSeed(graph, t, 0, prog);
    poputil::mapTensorLinearly(graph, t);
    const auto op = gcl::CollectiveOperator::ADD;
    gcl::allReduceCrossReplica(graph, t, op, prog, gcl::CommGroup());
    gcl::allReduceCrossReplica(graph, t, op, prog);
    gcl::reduceScatterCrossReplica(graph, t, op, prog, gcl::CommGroup());
    gcl::allGatherCrossReplica(graph, t, prog, gcl::CommGroup());
    t = concat(t, t);
    t = concat({t, t, t});
    const FloatingPointBehaviour behaviour(true, true, true, true, false);
    setFloatingPointBehaviour(graph, prog, behaviour);
    setFloatingPointBehaviour(graph, prog, t);
    getAndModifyFloatingPointBehaviour(graph, prog, behaviour, behaviour);
    setStochasticRounding(graph, prog, true);
    getHwSeeds(graph, prog);
    setHwSeeds(graph, t, prog);
}

}  // namespace poplar_signatures
