// Every free function of Poplar, PopLibs and GCL that programs here may call, as a static assertion of its type:
// another order of parameters, another constness or a missing overload does not compile. Compiled against our own
// headers by the tests, and against others by the target poplar_signatures (CNNTRAIN_POPLAR_INCLUDE). Members follow
// below, as calls; default arguments stand in poplar_defaults.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <gcl/Collectives.hpp>
#include <poplar/CSRFunctions.hpp>
#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <poplar/Program.hpp>
#include <poplar/RandomSeed.hpp>
#include <poplar/exceptions.hpp>
#include <poplin/ConvUtil.hpp>
#include <poplin/Convolution.hpp>
#include <poplin/MatMul.hpp>
#include <poplin/Norms.hpp>
#include <poplin/codelets.hpp>
#include <popnn/BatchNorm.hpp>
#include <popnn/GroupNorm.hpp>
#include <popnn/LayerNorm.hpp>
#include <popnn/LogSoftmax.hpp>
#include <popnn/NonLinearity.hpp>
#include <popnn/Pooling.hpp>
#include <popnn/codelets.hpp>
#include <popops/Cast.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Encoding.hpp>
#include <popops/Fill.hpp>
#include <popops/Loop.hpp>
#include <popops/Reduce.hpp>
#include <popops/ScaledAdd.hpp>
#include <popops/Zero.hpp>
#include <popops/codelets.hpp>
#include <poprand/RandomGen.hpp>
#include <poprand/codelets.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

namespace ipu_emulator {
struct Access;
struct GraphData;
}  // namespace ipu_emulator

namespace poplar_signatures {

using namespace poplar;
using poplar::program::Sequence;
using TensorPair = std::pair<Tensor, Tensor>;

using Shape = std::vector<std::size_t>;

#define OPTIONS const DebugContext&, const OptionFlags&
#define PLANNED OPTIONS, poplin::PlanningCache*
#define SIGNATURE(FUNCTION, ...) \
    static_assert(std::is_same_v<decltype(static_cast<__VA_ARGS__>(&FUNCTION)), __VA_ARGS__>, #FUNCTION)

// poplin
SIGNATURE(poplin::createWeights, Tensor (*)(Graph&, const poplin::ConvParams&, PLANNED));
SIGNATURE(poplin::createInput, Tensor (*)(Graph&, const poplin::ConvParams&, PLANNED));
SIGNATURE(poplin::convolution,
          Tensor (*)(Graph&, const Tensor&, const Tensor&, const poplin::ConvParams&, bool, Sequence&, PLANNED));
SIGNATURE(poplin::calculateWeightDeltas,
          Tensor (*)(Graph&, const Tensor&, const Tensor&, const poplin::ConvParams&, Sequence&, PLANNED));
SIGNATURE(poplin::getGradientParams, poplin::ConvParams (*)(const poplin::ConvParams&));
SIGNATURE(poplin::matMul, Tensor (*)(Graph&, const Tensor&, const Tensor&, Sequence&, const Type&, PLANNED));
SIGNATURE(poplin::matMulGrouped, Tensor (*)(Graph&, const Tensor&, const Tensor&, Sequence&, const Type&, PLANNED));
SIGNATURE(poplin::createMatMulInputRHS, Tensor (*)(Graph&, const Type&, const Shape&, const Shape&, PLANNED));
// popnn
SIGNATURE(popnn::gn::groupNormStatistics,
          TensorPair (*)(Graph&, Tensor, float, Sequence&, unsigned, bool, bool, const Type&, OPTIONS));
SIGNATURE(popnn::ln::layerNormStatistics,
          TensorPair (*)(Graph&, Tensor, float, Sequence&, bool, bool, const Type&, OPTIONS));
SIGNATURE(popnn::bn::distributedBatchNormStatistics,
          TensorPair (*)(Graph&, Tensor, float, Sequence&, bool, poplin::DistributedNormReduceCallback, unsigned, bool,
                         const Type&, OPTIONS));
SIGNATURE(popnn::bn::distributedBatchNormGradients,
          Tensor (*)(Graph&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, Sequence&,
                     poplin::DistributedNormReduceCallback, unsigned, const Type&, OPTIONS));
SIGNATURE(popnn::gn::groupNormGradients, Tensor (*)(Graph&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                                    Sequence&, const Type&, OPTIONS));
SIGNATURE(popnn::ln::layerNormGradients, Tensor (*)(Graph&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                                    Sequence&, const Type&, OPTIONS));
SIGNATURE(popnn::nonLinearity,
          Tensor (*)(Graph&, popnn::NonLinearityType, const Tensor&, Sequence&, const DebugContext&));
SIGNATURE(popnn::nonLinearityInputGradient,
          Tensor (*)(Graph&, popnn::NonLinearityType, const Tensor&, const Tensor&, Sequence&, const DebugContext&));
SIGNATURE(popnn::logSoftmaxInPlace, void (*)(Graph&, const Tensor&, Sequence&, const DebugContext&));
SIGNATURE(popnn::pooling::pool,
          Tensor (*)(Graph&, const popnn::pooling::PoolParams&, const Tensor&, Sequence&, OPTIONS));
SIGNATURE(popnn::pooling::poolInputGradient, Tensor (*)(Graph&, const popnn::pooling::PoolParams&, const Tensor&,
                                                        const Tensor&, const Tensor&, bool, Sequence&, OPTIONS));
// popops
SIGNATURE(popops::map, Tensor (*)(Graph&, const popops::expr::Expr&, const std::vector<Tensor>&, Sequence&, OPTIONS));
SIGNATURE(popops::mapInPlace,
          void (*)(Graph&, const popops::expr::Expr&, const std::vector<Tensor>&, Sequence&, OPTIONS));
SIGNATURE(popops::mapWithOutput,
          void (*)(Graph&, const popops::expr::Expr&, const std::vector<Tensor>&, const Tensor&, Sequence&, OPTIONS));
SIGNATURE(popops::neg, Tensor (*)(Graph&, const Tensor&, Sequence&, OPTIONS));
SIGNATURE(popops::add, Tensor (*)(Graph&, const Tensor&, const Tensor&, Sequence&, OPTIONS));
SIGNATURE(popops::addInPlace, void (*)(Graph&, const Tensor&, const Tensor&, Sequence&, OPTIONS));
SIGNATURE(popops::mul, Tensor (*)(Graph&, const Tensor&, const Tensor&, Sequence&, OPTIONS));
SIGNATURE(popops::mul, Tensor (*)(Graph&, const Tensor&, float, Sequence&, OPTIONS));
SIGNATURE(popops::mulInPlace, void (*)(Graph&, const Tensor&, float, Sequence&, OPTIONS));
SIGNATURE(popops::varianceToInvStdDev, Tensor (*)(Graph&, const Tensor&, float, Sequence&, OPTIONS));
SIGNATURE(popops::invStdDevToVariance, Tensor (*)(Graph&, const Tensor&, float, Sequence&, OPTIONS));
SIGNATURE(popops::cast, Tensor (*)(Graph&, const Tensor&, const Type&, Sequence&, const DebugContext&));
SIGNATURE(popops::cast, Program (*)(Graph&, const Tensor&, const Tensor&, const DebugContext&));
SIGNATURE(popops::reduce,
          Tensor (*)(Graph&, const Tensor&, const Type&, const Shape&, popops::ReduceParams, Sequence&, OPTIONS));
SIGNATURE(popops::reduce, Tensor (*)(Graph&, const Tensor&, const Shape&, popops::ReduceParams, Sequence&, OPTIONS));
SIGNATURE(popops::scaledAddTo, void (*)(Graph&, const Tensor&, const Tensor&, float, Sequence&, OPTIONS));
SIGNATURE(popops::zero, void (*)(Graph&, const Tensor&, Sequence&, const DebugContext&));
SIGNATURE(popops::fill<float>, void (*)(Graph&, const Tensor&, Sequence&, float, const DebugContext&));
SIGNATURE(popops::fill<int>, void (*)(Graph&, const Tensor&, Sequence&, int, const DebugContext&));
SIGNATURE(popops::fill<unsigned>, void (*)(Graph&, const Tensor&, Sequence&, unsigned, const DebugContext&));
SIGNATURE(popops::fill<bool>, void (*)(Graph&, const Tensor&, Sequence&, bool, const DebugContext&));
SIGNATURE(popops::iota, void (*)(Graph&, const Tensor&, unsigned, Sequence&, const DebugContext&));
SIGNATURE(popops::countedForLoop, Sequence (*)(Graph&, int, const Tensor&, int, const Program&, const DebugContext&));
SIGNATURE(popops::embedding::plan,
          popops::SlicePlan (*)(const Graph&, const Type&, std::size_t, std::size_t, const Shape&, const OptionFlags&));
SIGNATURE(popops::createSliceableTensor, Tensor (*)(Graph&, const Type&, const Shape&, const Shape&, const Shape&,
                                                    const popops::SlicePlan&, const OptionFlags&, const DebugContext&));
SIGNATURE(popops::dynamicSlice,
          Tensor (*)(Graph&, const Tensor&, const Tensor&, const Shape&, const Shape&, Sequence&, OPTIONS));
SIGNATURE(popops::dynamicUpdate, void (*)(Graph&, const Tensor&, const Tensor&, const Tensor&, const Shape&,
                                          const Shape&, Sequence&, OPTIONS));
SIGNATURE(popops::multiSlice, Tensor (*)(Graph&, const Tensor&, const Tensor&, const Shape&, const Shape&, Sequence&,
                                         const popops::SlicePlan&, const OptionFlags&, const DebugContext&));
SIGNATURE(popops::multiUpdateAdd,
          void (*)(Graph&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Shape&, const Shape&,
                   Sequence&, const popops::SlicePlan&, const OptionFlags&, const DebugContext&));
// poprand
SIGNATURE(poprand::setSeed, void (*)(Graph&, const Tensor&, std::uint32_t, Sequence&, const DebugContext&));
// poputil
SIGNATURE(poputil::mapTensorLinearly, void (*)(Graph&, const Tensor&));
// gcl
SIGNATURE(gcl::allReduceCrossReplica,
          Tensor (*)(Graph&, const Tensor&, gcl::CollectiveOperator, Sequence&, const gcl::CommGroup&, OPTIONS));
SIGNATURE(gcl::allReduceCrossReplica, Tensor (*)(Graph&, const Tensor&, gcl::CollectiveOperator, Sequence&, OPTIONS));
SIGNATURE(gcl::reduceScatterCrossReplica,
          Tensor (*)(Graph&, const Tensor&, gcl::CollectiveOperator, Sequence&, const gcl::CommGroup&, OPTIONS));
SIGNATURE(gcl::allGatherCrossReplica, Tensor (*)(Graph&, const Tensor&, Sequence&, const gcl::CommGroup&, OPTIONS));
// poplar, free functions
SIGNATURE(poplar::concat, Tensor (*)(const Tensor&, const Tensor&, unsigned));
SIGNATURE(poplar::concat, Tensor (*)(ArrayRef<Tensor>, unsigned));
SIGNATURE(poplar::setFloatingPointBehaviour,
          void (*)(Graph&, Sequence&, const FloatingPointBehaviour&, const DebugContext&));
SIGNATURE(poplar::setFloatingPointBehaviour, void (*)(Graph&, Sequence&, const Tensor&, const DebugContext&));
SIGNATURE(poplar::getAndModifyFloatingPointBehaviour, Tensor (*)(Graph&, Sequence&, const FloatingPointBehaviour&,
                                                                 const FloatingPointBehaviour&, const DebugContext&));
SIGNATURE(poplar::setStochasticRounding, void (*)(Graph&, Sequence&, bool, const DebugContext&));
SIGNATURE(poplar::getHwSeeds, Tensor (*)(Graph&, Sequence&, const DebugContext&));
SIGNATURE(poplar::setHwSeeds, void (*)(Graph&, const Tensor&, Sequence&, const DebugContext&));
// addCodelets
SIGNATURE(poplin::addCodelets, void (*)(Graph&));
SIGNATURE(popnn::addCodelets, void (*)(Graph&));
SIGNATURE(popops::addCodelets, void (*)(Graph&));
SIGNATURE(poprand::addCodelets, void (*)(Graph&));

#undef SIGNATURE
#undef PLANNED
#undef OPTIONS

/// Members and constructors, with the arguments that programs give them. Never run.
inline void members(Graph& graph, Sequence& prog, const Device& device, Engine& engine) {
    using namespace poplar::program;
    const std::vector<std::size_t> shape{2, 3};
    Tensor t = graph.addVariable(FLOAT, shape, "t");
    const Tensor c = graph.addConstant<float>(FLOAT, {2}, ArrayRef<float>({1.0f, 2.0f}));
    graph.setTileMapping(t, 0);
    graph.setTileMapping(t, graph.getTileMapping(t, true, false));
    graph.setInitialValue(t, 0.0f);
    graph.createHostWrite("w", t);
    graph.createHostRead("r", t);
    const DataStream in =
        graph.addHostToDeviceFIFO("in", FLOAT, 6, ReplicatedStreamMode::BROADCAST, {{"bufferingDepth", "2"}});
    const DataStream out = graph.addDeviceToHostFIFO("out", FLOAT, 6);
    const RemoteBuffer buffer = graph.addRemoteBuffer("buffer", FLOAT, 6, 4, false, false);
    const Graph half_of_it = graph.createVirtualGraph(0, 4);
    const Tensor replica = graph.addReplicationIndexConstant("replica");
    const Tensor clone = graph.clone(HALF, t, "clone");
    static_cast<void>(graph.getTarget().getNumTiles() + graph.getReplicationFactor());

    prog.add(Copy(t, t.reverse(0)));
    prog.add(Copy(in, t, true));
    prog.add(Copy(t, out, true));
    prog.add(Copy(buffer, t.flatten()));
    prog.add(Copy(t.flatten(), buffer));
    const Function function = graph.addFunction(Sequence({Copy(t, t)}));
    prog.add(Repeat(3, Call(function)));
    prog.add(If(replica, Sequence(), Sequence()));
    prog.add(RepeatWhileTrue(Sequence(), replica, Sequence()));

    t = t.slice(0, 1, 0).slice(Interval(0, 2), 1)[0].expand({0}).squeeze({0});
    t = t.reshape({1, 1}).dimShuffle({1, 0}).dimRoll(1, 0).dimShufflePartial({0}, {1}).transpose().flatten(0, 2);
    t = t.broadcast(2, 0).subSample(2, 0).reshapePartial(0, 1, {1, 1}).reinterpret(INT);
    static_cast<void>(t.rank() + t.dim(0) + t.numElements() + t.shape().size());
    static_cast<void>(t.valid() && t.containsAliases() && t.containsConstant() && t.elementType() == FLOAT);

    float memory[6] = {};
    engine.load(device);
    engine.run(0, "run");
    engine.connectStream("in", memory, memory + 6);
    engine.connectStream("in", memory);
    engine.connectStreamToCallback("in", [](void*) {});
    engine.connectStreamToCallback("in", 0, [](void*) {});
    engine.copyToRemoteBuffer(memory, "buffer", 0, 0);
    engine.copyFromRemoteBuffer("buffer", memory, 0, 0);
    engine.readTensor("r", memory, memory + 6);
    engine.writeTensor("w", memory, memory + 6);
    Engine other(graph, {prog, prog}, {{"debug.nanOverflowMode", "true"}});

    const Graph replicated(device, replication_factor(2));
    static_cast<void>(Target::createIPUTarget(2, "ipu2").getNumIPUs());
    static_cast<void>(DeviceManager::createDeviceManager().getDevices(TargetType::IPU, 1).front().attach());
    IPUModel model;
    model.tilesPerIPU = 8;
    static_cast<void>(model.createDevice());
    const FloatingPointBehaviour behaviour(true, true, true, true, false);
    const popops::ReduceParams sum(popops::Operation::ADD);
    const popops::expr::Any formula =
        popops::expr::Select(popops::expr::_1 * 2.0f, popops::expr::Const(0.0f), popops::expr::_2 > popops::expr::_1);
    const popnn::pooling::PoolParams pool(popnn::PoolingType::MAX, {4, 4}, {2, 2}, {2, 2}, {0, 0}, {0, 0}, 3, 1, HALF);
    const poplin::ConvParams conv(HALF, FLOAT, 1, {4, 4}, {3, 3}, 3, 8, 1, poplin::ConvParams::InputTransform(2),
                                  poplin::ConvParams::InputTransform(2), poplin::ConvParams::OutputTransform(2));
    static_cast<void>(conv.getOutputFieldShape().size() + pool.getOutputFieldShape().size());
}

// Programs reach neither the data that the emulator keeps in its objects, nor the constructors that take it.
template <class T> constexpr bool kShowsData = requires(T& t) {
    t.data_;
};
template <class T> constexpr bool kShowsNode = requires(T& t) {
    t.node_;
};
template <class T> constexpr bool kShowsIndex = requires(T& t) {
    t.index_;
};
template <class T> constexpr bool kShowsGraph = requires(T& t) {
    t.graph_;
};
template <class T> constexpr bool kShowsOthers = requires(T& t) {
    t.keys_;
}
|| requires(T& t) {
    t.machine_;
}
|| requires(T& t) {
    t.id_;
}
|| requires(T& t) {
    t.tiles_;
};
template <class T> constexpr bool kComplete = requires {
    sizeof(T);
};
struct Open {
    int data_, node_, index_, graph_, id_;
};
static_assert(kShowsData<Open> && kShowsNode<Open> && kShowsIndex<Open> && kShowsGraph<Open> && kShowsOthers<Open> &&
              kComplete<Open> && !kComplete<ipu_emulator::Access> && !kComplete<ipu_emulator::GraphData>);
static_assert(!kShowsData<Tensor> && !kShowsData<Graph> && !kShowsOthers<Graph> && !kShowsOthers<Type> &&
              !kShowsOthers<Engine> && !kShowsOthers<poplin::PlanningCache>);
static_assert(!kShowsNode<Program> && !kShowsNode<Sequence> && !kShowsNode<program::Copy> &&
              !kShowsNode<popops::expr::Expr> && !kShowsNode<popops::expr::Any>);
static_assert(!kShowsIndex<DataStream> && !kShowsGraph<DataStream> && !kShowsIndex<RemoteBuffer> &&
              !kShowsGraph<RemoteBuffer> && !kShowsIndex<Function> && !kShowsGraph<Function>);
static_assert(!std::is_constructible_v<Target, TargetType, unsigned, unsigned> &&
              !std::is_constructible_v<Device, Target, unsigned>);

static_assert(std::is_base_of_v<poplar_error, invalid_option> &&
              std::is_base_of_v<poplar_error, stream_connection_error> &&
              std::is_base_of_v<poplar_error, invalid_tile_mapping> &&
              std::is_base_of_v<poplar::runtime_error, application_runtime_error> &&
              std::is_base_of_v<std::runtime_error, poputil::poplibs_error>);

}  // namespace poplar_signatures
