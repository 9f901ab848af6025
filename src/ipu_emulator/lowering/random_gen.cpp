#include <poprand/RandomGen.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "ipu_emulator/lowering/support.h"
#include "ipu_emulator/numerics/random.h"

namespace ipu_emulator {
namespace {

using poplar::Tensor;

std::uint64_t seed_of(const Operand& seed) {
    return static_cast<std::uint32_t>(seed.integer(0)) |
           (static_cast<std::uint64_t>(static_cast<std::uint32_t>(seed.integer(1))) << 32);
}

void check_seed(const std::string& name, const Tensor& seed) {
    require(seed.numElements() == 2 && seed.elementType() == poplar::UNSIGNED_INT, name,
            "expected a seed of two unsigned integers, got " + seed.shapeToString());
}

/// A wrong reference gives other numbers, as on an IPU, where its mapping decides which tile draws.
std::uint64_t mapping_key(const Regions& regions) {
    std::uint64_t key = regions.count();
    for (const TileSpan& span : regions.spans())
        key = mix(key, (span.end << 16) + span.tile);
    return key;
}

/// Returns the number in (0, 1) that follows from random bits.
double unit(std::uint64_t bits) {
    return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
}

/// The range of results, as the result's type has it: [least, most] lies inside of the range asked for, unless the type
/// has no number there.
struct Range {
    float least = -std::numeric_limits<float>::infinity();
    float most = std::numeric_limits<float>::infinity();

    static Range of(double low, double high, poplar::Type type) {
        const auto nearest = [&](double value) {
            const auto single = static_cast<float>(value);
            return type == poplar::HALF ? half_value(nearest_half(single, Overflow::saturate)) : single;
        };
        const auto beside = [&](float value, float towards) {
            if (type != poplar::HALF) return std::nextafter(value, towards);
            float other = value;  // binary32 has several numbers for one of binary16
            while (nearest(other) == value)
                other = std::nextafter(other, towards);
            return half_value(nearest_half(other, Overflow::saturate));
        };
        Range range{nearest(low), nearest(high)};
        if (range.least < low) range.least = beside(range.least, range.most);
        if (range.most > high) range.most = beside(range.most, -std::numeric_limits<float>::infinity());
        if (range.least > range.most) range.least = range.most = nearest(low);
        return range;
    }
};

/// Numbers as half, rounded to nearest: the state of the tiles that hold them decides about nothing.
void store_halves(OpRun& run, const Range& range, std::size_t begin, std::size_t count, const float* values) {
    std::uint16_t halves[kChunk];
    if (to_nearest_halves(values, halves, count, run.control().overflow())) run.report(kOverflowed);
    for (std::size_t i = 0; i < count; ++i) {
        const float value = half_value(halves[i]);
        if (value < range.least) halves[i] = nearest_half(range.least, Overflow::saturate);
        if (value > range.most) halves[i] = nearest_half(range.most, Overflow::saturate);
    }
    run.write().store_bytes(begin, count, halves);
}

void store_numbers(OpRun& run, const Range& range, std::size_t begin, std::size_t count, float* values) {
    if (run.write().type() == poplar::HALF) return store_halves(run, range, begin, count, values);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = std::clamp(values[i], range.least, range.most);
    run.write().store(begin, count, values);
}

void store_numbers(OpRun& run, const Range&, std::size_t begin, std::size_t count, std::int32_t* values) {
    run.write().store(begin, count, values);
}

/// Adds an operation whose element i is number(uniform bits), float or integer.
template <class Number> Tensor add_random(poplar::Graph& graph, const Tensor* seed, std::uint32_t modifier,
                                          const Tensor& reference, poplar::Type type, poplar::program::Sequence& prog,
                                          const std::string& name, const Range& range, Number number) {
    Tensor out = new_tensor_like(graph, type, reference, name);
    HostOp op{.name = name, .writes = {out}, .draws = seed == nullptr ? Draws::always : Draws::never};
    if (seed != nullptr) {
        check_seed(name, *seed);
        op.reads.push_back(*seed);
    }
    op.run = [seeded = seed != nullptr, modifier, range, number](OpRun& run) {
        const Regions& regions = run.write().regions();
        const std::uint64_t base =
            seeded ? mix(mix(seed_of(run.read(0)), modifier), mapping_key(regions)) : std::uint64_t{0};
        run.in_pieces(regions.count(), kChunk, [&](std::size_t begin, std::size_t count) {
            decltype(number(0)) values[kChunk];
            for (std::size_t i = 0; i < count; ++i) {
                const std::uint64_t key = seeded ? base : run.key(regions.span_of(begin + i).tile);
                values[i] = number(mix(key, begin + i));
            }
            store_numbers(run, range, begin, count, values);
        });
    };
    add_op(prog, std::move(op));
    return out;
}

}  // namespace
}  // namespace ipu_emulator

namespace poprand {

using namespace ipu_emulator;
using poplar::Tensor;

Tensor uniform(poplar::Graph& graph, const Tensor* seed, std::uint32_t seedModifier, const Tensor& reference,
               const poplar::Type& outType, double minVal, double maxVal, poplar::program::Sequence& prog,
               const poplar::DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "uniform");
    require(minVal <= maxVal, name, "the lower bound is above the upper one");
    if (is_float(outType)) {
        const Range range = Range::of(minVal, maxVal, outType);
        return add_random(graph, seed, seedModifier, reference, outType, prog, name, range, [=](std::uint64_t bits) {
            return static_cast<float>(minVal + (maxVal - minVal) * unit(bits));
        });
    }
    return add_random(graph, seed, seedModifier, reference, outType, prog, name, {}, [=](std::uint64_t bits) {
        const double value = std::floor(minVal + (maxVal - minVal + 1) * unit(bits));
        return static_cast<std::int32_t>(static_cast<std::int64_t>(std::min(value, maxVal)));
    });
}

Tensor normal(poplar::Graph& graph, const Tensor* seed, std::uint32_t seedModifier, const Tensor& reference,
              const poplar::Type& outType, double mean, double stdDev, poplar::program::Sequence& prog,
              const poplar::DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "normal");
    require(is_float(outType), name, "expected a result of half or float");
    return add_random(graph, seed, seedModifier, reference, outType, prog, name, {}, [=](std::uint64_t bits) {
        const double radius = std::sqrt(-2 * std::log(unit(bits)));
        return static_cast<float>(mean + stdDev * radius * std::cos(2 * std::numbers::pi * unit(mix(bits))));
    });
}

void setSeed(poplar::Graph& graph, const Tensor& masterSeed, std::uint32_t seedModifier,
             poplar::program::Sequence& prog, const poplar::DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "setSeed");
    check_seed(name, masterSeed);
    add_op(prog, {.name = name, .reads = {masterSeed}, .run = [seedModifier, tiles = Access::tiles(graph)](OpRun& run) {
                      const std::uint64_t seed = mix(seed_of(run.read(0)), seedModifier);
                      for (const unsigned tile : tiles)
                          seed_tile(seed, tile, &run.state().seeds[std::size_t{tile} * kWordsPerTile]);
                  }});
}

}  // namespace poprand
