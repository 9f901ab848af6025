// A program allocates in its first run only. Counts every operator new of the process.
#include <gtest/gtest.h>

#include <gcl/Collectives.hpp>
#include <poplar/CSRFunctions.hpp>
#include <poplar/RandomSeed.hpp>
#include <poplin/ConvUtil.hpp>
#include <poplin/Convolution.hpp>
#include <poplin/MatMul.hpp>
#include <popnn/BatchNorm.hpp>
#include <popnn/LogSoftmax.hpp>
#include <popnn/NonLinearity.hpp>
#include <popnn/Pooling.hpp>
#include <popops/Cast.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Loop.hpp>
#include <popops/Reduce.hpp>
#include <popops/ScaledAdd.hpp>
#include <popops/Zero.hpp>
#include <poprand/RandomGen.hpp>

#include <atomic>
#include <cstdlib>
#include <new>

#include "ipu_emulator/machine_support.h"

namespace {

std::atomic<long> allocations{0};

}  // namespace

// Not inlined: GCC would take free() for a mistake there.
__attribute__((noinline)) void* operator new(std::size_t size) {
    ++allocations;
    if (void* memory = std::malloc(size != 0 ? size : 1)) return memory;
    throw std::bad_alloc();
}

__attribute__((noinline)) void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    ++allocations;
    return std::malloc(size != 0 ? size : 1);
}

// All forms, lest a sanitizer's own ones allocate what these free.
void* operator new[](std::size_t size) {
    return operator new(size);
}

void* operator new[](std::size_t size, const std::nothrow_t& tag) noexcept {
    return operator new(size, tag);
}

__attribute__((noinline)) void operator delete(void* memory) noexcept {
    std::free(memory);
}

void operator delete(void* memory, const std::nothrow_t&) noexcept {
    operator delete(memory);
}

void operator delete[](void* memory) noexcept {
    operator delete(memory);
}

void operator delete[](void* memory, std::size_t) noexcept {
    operator delete(memory);
}

void operator delete[](void* memory, const std::nothrow_t&) noexcept {
    operator delete(memory);
}

__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace {

using namespace ipu_emulator::test;
using namespace poplar::program;
using namespace popops::expr;

/// Every kind of program and one operation of each library function's kind.
void build_everything(Bench& bench) {
    auto& g = bench.graph;
    auto& p = bench.prog;
    poplar::setStochasticRounding(g, p, true);
    const auto in = g.addHostToDeviceFIFO("in", HALF, 2 * 16 * 36);
    const auto out = g.addDeviceToHostFIFO("out", FLOAT, 1);
    const auto buffer = g.addRemoteBuffer("buffer", HALF, 2 * 16 * 36, 2);
    poplin::ConvParams params(HALF, HALF, 2, {6, 6}, {3, 3}, 16, 24, 1);
    params.outputTransform.stride = {2, 2};
    const poplar::OptionFlags half{{"partialsType", "half"}};
    const Tensor x = poplin::createInput(g, params, "x");
    const Tensor w = poplin::createWeights(g, params, "w");
    g.setInitialValue(w, 0.1f);
    p.add(Copy(in, x));
    p.add(Copy(x.flatten(), buffer));
    p.add(Copy(x.reverse(2), x));
    const Tensor z = poplin::convolution(g, x, w, params, false, p, {}, half);
    const auto [mean, inverse] = popnn::bn::distributedBatchNormStatistics(g, z, 1e-3f, p, false, {}, 2);
    const Tensor gamma = bench.input(HALF, {24}, Values(24, 1.0f));
    const Tensor whitened = popops::map(g, (_1 - _2) * _3, {z, mean.expand({1, 1}), inverse.expand({1, 1})}, p);
    const Tensor scaled = popops::map(g, _1 * _2 + _2, {whitened, gamma.expand({1, 1})}, p);
    const Tensor y = popnn::nonLinearity(g, popnn::NonLinearityType::GELU, scaled, p);
    const popnn::pooling::PoolParams pool(popnn::PoolingType::MAX, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, 24, 2, HALF);
    const Tensor pooled = popnn::pooling::pool(g, pool, y, p);
    const Tensor grads = popnn::pooling::poolInputGradient(g, pool, y, pooled, pooled, false, p);
    const Tensor back = popnn::bn::distributedBatchNormGradients(g, whitened, grads, inverse, gamma, p, {}, 2);
    popops::scaledAddTo(g, w, poplin::calculateWeightDeltas(g, back, x, params, p, {}, half), -0.01f, p);
    poplin::convolution(g, back, w, poplin::getGradientParams(params), true, p, {}, half);
    const Tensor rows = pooled.reshape({2, 24});
    const Tensor product = poplin::matMul(g, rows.transpose(), rows, p, FLOAT, {}, half);
    popnn::logSoftmaxInPlace(g, product, p);
    const Tensor places = bench.input(UNSIGNED_INT, {2, 1}, {1, 0});
    const Tensor slice = popops::dynamicSlice(g, product, places[0], {0}, {1}, p);
    popops::multiUpdateAdd(g, product, product.slice(0, 2).expand({1}), places, bench.input(FLOAT, {}, {1}), {0}, {1},
                           p, popops::SlicePlan(), {});
    const Tensor seed = bench.input(UNSIGNED_INT, {2}, {1, 2});
    poprand::setSeed(g, seed, 0, p);
    popops::scaledAddTo(g, product, product.transpose(), 0.5f, p);
    Sequence body;
    popops::mapInPlace(g, _1 * 0.5f, {product}, body);
    p.add(popops::countedForLoop(g, 0, bench.input(UNSIGNED_INT, {}, {3}), 1, body));
    p.add(If(popops::map(g, IsFinite(_1), {product[0][0]}, p), body, Sequence()));
    p.add(Copy(gcl::allReduceCrossReplica(g, product, gcl::CollectiveOperator::ADD, p), product));
    poplar::setHwSeeds(g, poplar::getHwSeeds(g, p), p);
    p.add(Copy(popops::reduce(g, product, {0, 1}, {popops::Operation::ADD}, p), out));
    static_cast<void>(slice);
}

TEST(Allocation, NoneInTheSecondRun) {
    const CheckedReads unchecked(false);
    for (const unsigned threads : {1u, 3u}) {
        const HostThreads host(threads);
        Bench bench(2);
        build_everything(bench);
        std::vector<std::uint16_t> data(2 * 2 * 16 * 36, ipu_emulator::ieee_half(0.5f));
        Values result(2);
        bench.engine().connectStream("in", data.data(), data.data() + data.size());
        bench.engine().connectStream("out", result.data(), result.data() + 2);
        bench.engine().load(bench.device);
        bench.engine().run();
        const long before = allocations;
        bench.engine().run();
        EXPECT_EQ(allocations - before, 0) << threads << " threads";
    }
}

}  // namespace
