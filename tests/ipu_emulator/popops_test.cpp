#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <poplar/exceptions.hpp>
#include <popops/Cast.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Encoding.hpp>
#include <popops/Fill.hpp>
#include <popops/Loop.hpp>
#include <popops/Reduce.hpp>
#include <popops/ScaledAdd.hpp>
#include <popops/Zero.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/exceptions.hpp>

#include <numeric>

#include "ipu_emulator/machine_support.h"

namespace {

using namespace ipu_emulator::test;
using namespace popops::expr;

TEST(Map, FormulasOverFloatsBroadcast) {
    Bench bench;
    const Tensor a = bench.input(FLOAT, {2, 3}, {1, 2, 3, 4, 5, 6});
    const Tensor b = bench.input(FLOAT, {3}, {10, 20, 30});
    const Tensor out = popops::map(bench.graph, Select(_1 * 2 + _2, Const(-1.0f), _1 > 2.0f), {a, b}, bench.prog);
    EXPECT_EQ(bench.result(out), (Values{-1, -1, 36, 18, 30, 42}));
}

TEST(Map, HalvesAreRoundedOnce) {
    const Values x = as_halves(random_values(1000, 1, -4, 4));
    const Values y = as_halves(random_values(1000, 2, -4, 4));
    Bench bench;
    const Tensor a = bench.input(HALF, {1000}, x);
    const Tensor b = bench.input(HALF, {1000}, y);
    const Values result = bench.result(popops::map(bench.graph, _1 * _2 + Const(0.3f), {a, b}, bench.prog));
    const float constant = as_half(0.3f);
    for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(result[i], as_half(x[i] * y[i] + constant)) << i;
}

TEST(Map, IntegersWrapAndShift) {
    Bench bench;
    const Tensor a = bench.graph.addConstant<int>(INT, {4}, poplar::ArrayRef<int>({-7, 7, 2147483647, 100}));
    bench.graph.setTileMapping(a, 0);
    const Tensor u = a.reinterpret(UNSIGNED_INT);
    const auto values = [&](const Tensor& t) {
        static int n = 0;
        std::string name = "t" + std::to_string(n++);
        bench.watch(name, t);
        return name;
    };
    auto& g = bench.graph;
    auto& p = bench.prog;
    const auto quotient = values(popops::map(g, _1 / 2, {a}, p));
    const auto rest = values(popops::map(g, Rem(_1, Const(4)), {a}, p));
    const auto sum = values(popops::map(g, _1 + 1, {a}, p));
    const auto logical = values(popops::map(g, _1 >> 28u, {u}, p));
    const auto bits = values(popops::map(g, _1 ^ Const(0xff), {a}, p));
    const auto larger = values(popops::map(g, _1 > Const(2000000000u), {u}, p));
    bench.run();
    EXPECT_EQ(bench.values(quotient), (Values{-3, 3, 1073741823.0f, 50}));
    EXPECT_EQ(bench.values(rest), (Values{-3, 3, 3, 0}));
    EXPECT_EQ(bench.values(sum), (Values{-6, 8, -2147483648.0f, 101}));
    EXPECT_EQ(bench.values(logical), (Values{15, 0, 7, 0}));
    EXPECT_EQ(bench.values(bits), (Values{-250, 248, 2147483392.0f, 155}));
    EXPECT_EQ(bench.values(larger), (Values{1, 0, 1, 0}));
}

TEST(Map, NamedOperationsInPlaceAndWithOutput) {
    Bench bench;
    const Tensor a = bench.input(FLOAT, {3}, {1, 4, 9});
    const Tensor b = bench.input(FLOAT, {3}, {1, 1, 2});
    const Tensor out = bench.variable(FLOAT, {3});
    popops::mapInPlace(bench.graph, Sqrt(_1), {a}, bench.prog);
    popops::addInPlace(bench.graph, a, b, bench.prog);
    popops::mapWithOutput(bench.graph, _1 - 0.5f, {a}, out, bench.prog);
    popops::mapInPlace(bench.graph, _1 + _1, {out}, bench.prog);
    EXPECT_EQ(bench.result(popops::map(bench.graph, 10.0f - _1, {out}, bench.prog)), (Values{7, 5, 1}));
}

TEST(Map, OperandsThatShareMemoryAreReadBeforeTheResultIsWritten) {
    Bench bench;
    Values values(5000);
    std::iota(values.begin(), values.end(), 0.0f);
    const Tensor t = bench.input(FLOAT, {5000}, values);
    popops::mapInPlace(bench.graph, _1 + _2, {t, t.reverse(0)}, bench.prog);
    const Values result = bench.result(t);
    for (const float value : result)
        ASSERT_EQ(value, 4999);
}

TEST(Map, TypesAndShapesThatDoNotFit) {
    Bench bench;
    auto& g = bench.graph;
    const Tensor f = bench.variable(FLOAT, {2});
    const Tensor h = bench.variable(HALF, {2});
    EXPECT_THROW(popops::map(g, _1 + _2, {f, h}, bench.prog), poputil::poplibs_error);
    EXPECT_THROW(popops::map(g, _1 + _2, {f}, bench.prog), poputil::poplibs_error);
    EXPECT_THROW(popops::map(g, _1 ^ _2, {f, f}, bench.prog), poputil::poplibs_error);
    EXPECT_THROW(popops::map(g, Select(_1, _1, _1), {f}, bench.prog), poputil::poplibs_error);
    EXPECT_THROW(popops::add(g, f, bench.variable(FLOAT, {3}), bench.prog), poputil::poplibs_error);
    EXPECT_THROW(popops::mapWithOutput(g, _1 > 0.0f, {f}, f, bench.prog), poplar::type_error);
    EXPECT_THROW(popops::mapInPlace(g, _1 + _1, {f.broadcast(2, 0)}, bench.prog), poplar::graph_connection_error);
    EXPECT_THROW(popops::map(g, _1, {f}, bench.prog, {}, {{"fast", "true"}}), poplar::invalid_option);
}

TEST(Map, ASecondRunGivesNewValuesOfTheSameProgram) {
    Bench bench;
    const Tensor t = bench.input(FLOAT, {2}, {1, 2});
    popops::mapInPlace(bench.graph, _1 * 2.0f, {t}, bench.prog);
    bench.result(t);
    bench.engine().run();
    EXPECT_EQ(bench.values("result"), (Values{4, 8}));
    bench.engine().load(bench.device);
    bench.engine().run();
    EXPECT_EQ(bench.values("result"), (Values{2, 4})) << "load() gives initial values again";
}

/// Sum, maximum, product over `dims` of a [3][4][5] view, against loops.
void expect_reduction(const Shape& dims, bool transposed) {
    Bench bench;
    const Values x = random_values(60, 3);
    Tensor t = bench.input(FLOAT, transposed ? Shape{5, 4, 3} : Shape{3, 4, 5}, x);
    if (transposed) t = t.transpose();
    bench.watch("sum", popops::reduce(bench.graph, t, dims, {popops::Operation::ADD}, bench.prog));
    bench.watch("max", popops::reduce(bench.graph, t, dims, {popops::Operation::MAX}, bench.prog));
    bench.watch("squares", popops::reduce(bench.graph, t, dims, {popops::Operation::SQUARE_ADD}, bench.prog));
    bench.run();
    std::map<std::vector<std::size_t>, std::array<double, 3>> expected;
    for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 4; ++j) {
            for (std::size_t k = 0; k < 5; ++k) {
                std::vector<std::size_t> key;
                const std::array<std::size_t, 3> index{i, j, k};
                for (std::size_t d = 0; d < 3; ++d)
                    if (std::ranges::count(dims, d) == 0) key.push_back(index[d]);
                const double value = transposed ? x[k * 12 + j * 3 + i] : x[i * 20 + j * 5 + k];
                auto [at, fresh] = expected.try_emplace(key, std::array<double, 3>{0, -1e9, 0});
                at->second[0] += value;
                at->second[1] = std::max(at->second[1], value);
                at->second[2] += value * value;
            }
        }
    }
    std::size_t n = 0;
    for (const auto& [key, values] : expected) {
        ASSERT_NEAR(bench.values("sum")[n], values[0], 1e-5);
        ASSERT_NEAR(bench.values("max")[n], values[1], 1e-6);
        ASSERT_NEAR(bench.values("squares")[n], values[2], 1e-5);
        ++n;
    }
}

TEST(Reduce, OverAnyDimensionsOfAnyView) {
    for (const bool transposed : {false, true}) {
        for (const auto& dims : std::vector<std::vector<std::size_t>>{{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}, {0, 1, 2}})
            expect_reduction(dims, transposed);
    }
}

TEST(Reduce, HalvesSumInFloat) {
    Bench bench;
    const Tensor t = bench.input(HALF, {4096}, Values(4096, 1.0f));
    EXPECT_EQ(bench.result(popops::reduce(bench.graph, t, {0}, {popops::Operation::ADD}, bench.prog)), Values{4096});
}

TEST(Reduce, UnsignedIntegersAreOrderedAsSuch) {
    Bench bench;
    const Tensor t = bench.input(UNSIGNED_INT, {3}, {1, 3e9f, 5});
    bench.watch("max", popops::reduce(bench.graph, t, {0}, {popops::Operation::MAX}, bench.prog));
    bench.run();
    EXPECT_EQ(bench.values("max"), Values{3e9f});
    EXPECT_THROW(popops::reduce(bench.graph, t, INT, {0}, {popops::Operation::ADD}, bench.prog),
                 poputil::poplibs_error);
}

TEST(Reduce, OfIntegersOverDimensionsThatAreThere) {
    Bench bench;
    const Tensor t = bench.input(INT, {2, 2}, {1, -2, 3, 4});
    EXPECT_EQ(bench.result(popops::reduce(bench.graph, t, {0, 1}, {popops::Operation::ADD}, bench.prog)), Values{6});
    EXPECT_THROW(popops::reduce(bench.graph, t, {2}, {popops::Operation::ADD}, bench.prog), poputil::poplibs_error);
}

TEST(Cast, BetweenAllKindsOfTypes) {
    Bench bench;
    const Tensor t = bench.input(FLOAT, {5}, {-1.7f, 0, 2.9f, 3e9f, 1e10f});
    bench.watch("int", popops::cast(bench.graph, t, INT, bench.prog));
    bench.watch("unsigned", popops::cast(bench.graph, t, UNSIGNED_INT, bench.prog));
    bench.watch("bool", popops::cast(bench.graph, t, BOOL, bench.prog));
    const Tensor bytes = bench.input(poplar::UNSIGNED_CHAR, {2}, {200, 3});
    bench.watch("half", popops::cast(bench.graph, bytes, HALF, bench.prog));
    bench.run();
    EXPECT_EQ(bench.values("int"), (Values{-1, 0, 2, 2147483648.0f, 2147483648.0f}));
    EXPECT_EQ(bench.values("unsigned"), (Values{0, 0, 2, 3e9f, 4294967295.0f}));
    EXPECT_EQ(bench.values("bool"), (Values{1, 0, 1, 1, 1}));
    EXPECT_EQ(bench.values("half"), (Values{200, 3}));
}

TEST(Cast, OfIntegersKeepsAllBits) {
    Bench bench;
    const Tensor t = bench.graph.addConstant<unsigned>(UNSIGNED_INT, {2}, 3000000000u);
    bench.graph.setTileMapping(t, 0);
    const Tensor wide = popops::cast(bench.graph, t, poplar::LONGLONG, bench.prog);
    const Tensor big = bench.input(FLOAT, {2}, {0x1p40f, -0x1p40f});
    const Tensor from_float = popops::cast(bench.graph, big, poplar::LONGLONG, bench.prog);
    bench.graph.createHostRead("wide", wide);
    bench.graph.createHostRead("from float", from_float);
    bench.watch("back", popops::cast(bench.graph, wide, UNSIGNED_INT, bench.prog));
    bench.run();
    long long values[2] = {};
    bench.engine().readTensor("wide", values, values + 2);
    EXPECT_EQ(values[1], 3000000000ll);
    bench.engine().readTensor("from float", values, values + 2);
    EXPECT_EQ(values[0], 1ll << 40);
    EXPECT_EQ(values[1], -(1ll << 40));
    EXPECT_EQ(bench.values("back"), Values(2, 3e9f));
}

TEST(Cast, AnyByteOfBoolThatIsNotZeroIsTrue) {
    Bench bench;
    const Tensor t = bench.variable(BOOL, {1});
    bench.graph.createHostWrite("t", t);
    bench.watch("cast", popops::cast(bench.graph, t, INT, bench.prog));
    bench.watch("formula", popops::map(bench.graph, Cast(_1, INT), {t}, bench.prog));
    bench.watch("float", popops::cast(bench.graph, t, FLOAT, bench.prog));
    bench.engine().load(bench.device);
    const unsigned char two = 2;
    bench.engine().writeTensor("t", &two, &two + 1);
    bench.engine().run();
    for (const char* name : {"cast", "formula", "float"})
        EXPECT_EQ(bench.values(name), Values{1}) << name;
}

/// Operations whose operand and result overlap by one element less than all.
TEST(ScaledAdd, ShiftedOperandsAreReadBeforeTheResultIsWritten) {
    constexpr std::size_t kCount = 30000;  // several tasks
    Values numbers(kCount);
    std::iota(numbers.begin(), numbers.end(), 0.0f);
    const HostThreads host(4);
    Bench bench;
    const Tensor sums = bench.input(FLOAT, {kCount}, numbers);
    popops::scaledAddTo(bench.graph, sums.slice(1, kCount), sums.slice(0, kCount - 1), 1.0f, bench.prog);
    const Tensor shifted = bench.input(FLOAT, {kCount}, numbers);
    bench.prog.add(popops::cast(bench.graph, shifted.slice(0, kCount - 1), shifted.slice(1, kCount)));
    bench.watch("shifted", shifted);
    const Values result = bench.result(sums);
    Values expected = numbers;
    for (std::size_t i = 1; i < kCount; ++i)
        expected[i] += numbers[i - 1];
    EXPECT_EQ(result, expected);
    std::copy(numbers.begin(), numbers.end() - 1, expected.begin() + 1);
    EXPECT_EQ(bench.values("shifted"), expected);
}

TEST(Slices, UpdatesByRowsOfTheSameTensor) {
    Bench bench;
    const Tensor t = bench.input(FLOAT, {4, 1}, {1, 2, 3, 4});
    const Tensor one = bench.input(UNSIGNED_INT, {1}, {1});
    popops::dynamicUpdate(bench.graph, t, t, one, {0}, {4}, bench.prog);
    EXPECT_EQ(bench.result(t), (Values{4, 1, 2, 3}));
}

TEST(ScaledAdd, OfHalvesAndFloats) {
    Bench bench;
    const Tensor a = bench.input(HALF, {2}, {1, 2});
    const Tensor b = bench.input(FLOAT, {2}, {10, 20});
    popops::scaledAddTo(bench.graph, a, b, 0.25f, bench.prog);
    popops::scaledAddTo(bench.graph, a, b, 1.0f, bench.prog);
    popops::scaledAddTo(bench.graph, a, b, -0.1f, bench.prog);
    EXPECT_EQ(bench.result(a), (Values{12.5f, 25}));
}

TEST(Fill, ZeroAndIota) {
    Bench bench;
    const Tensor t = bench.variable(FLOAT, {2, 3});
    popops::fill(bench.graph, t, bench.prog, 2.5f);
    popops::zero(bench.graph, t.slice(0, 1, 1), bench.prog);
    const Tensor numbers = bench.variable(UNSIGNED_INT, {3});
    popops::iota(bench.graph, numbers, 1u, bench.prog);
    bench.watch("numbers", numbers);
    EXPECT_EQ(bench.result(t), (Values{0, 2.5f, 2.5f, 0, 2.5f, 2.5f}));
    EXPECT_EQ(bench.values("numbers"), (Values{1, 2, 3}));
}

TEST(Fill, IotaIsOfIntegers) {
    Bench bench;
    EXPECT_THROW(popops::iota(bench.graph, bench.variable(FLOAT, {3}), 1u, bench.prog), poputil::poplibs_error);
}

TEST(Slices, DynamicSliceAndUpdate) {
    Bench bench;
    const Tensor t = bench.input(FLOAT, {2, 4}, {0, 1, 2, 3, 10, 11, 12, 13});
    const Tensor offset = bench.input(UNSIGNED_INT, {1}, {3});
    const Tensor beyond = bench.input(UNSIGNED_INT, {1}, {9});
    bench.watch("wrapped", popops::dynamicSlice(bench.graph, t, offset, {1}, {2}, bench.prog));
    bench.watch("beyond", popops::dynamicSlice(bench.graph, t, beyond, {1}, {1}, bench.prog));
    popops::dynamicUpdate(bench.graph, t, bench.input(FLOAT, {2, 1}, {-1, -2}), offset, {1}, {1}, bench.prog);
    EXPECT_EQ(bench.result(t), (Values{0, 1, 2, -1, 10, 11, 12, -2}));
    EXPECT_EQ(bench.values("wrapped"), (Values{3, 0, 13, 10}));
    EXPECT_EQ(bench.values("beyond"), (Values{0, 10})) << "an offset out of range reads as if it were 0";
    EXPECT_THROW(popops::dynamicSlice(bench.graph, t, offset, {1}, {5}, bench.prog), poputil::poplibs_error);
}

TEST(Slices, EmbeddingsAndTheirUpdates) {
    Bench bench;
    const auto plan = popops::embedding::plan(bench.graph, FLOAT, 4, 2, {3}, {{"usedForUpdate", "true"}});
    const Tensor t = popops::createSliceableTensor(bench.graph, FLOAT, {4, 2}, {0}, {1}, plan, {});
    bench.graph.setInitialValue(t, poplar::ArrayRef<float>(Values{0, 1, 10, 11, 20, 21, 30, 31}));
    const Tensor offsets = bench.input(UNSIGNED_INT, {4, 1}, {2, 0, 2, 9});
    const Tensor slices = popops::multiSlice(bench.graph, t, offsets, {0}, {1}, bench.prog, plan, {});
    EXPECT_EQ(slices.shape(), (Shape{4, 1, 2}));
    bench.watch("slices", slices);
    const Tensor scale = bench.input(FLOAT, {}, {2});
    const Tensor ones = bench.input(FLOAT, {4, 1, 2}, Values(8, 1));
    popops::multiUpdateAdd(bench.graph, t, ones, offsets, scale, {0}, {1}, bench.prog, plan, {});
    EXPECT_EQ(bench.result(t), (Values{2, 3, 10, 11, 24, 25, 30, 31}));
    EXPECT_EQ(bench.values("slices"), (Values{20, 21, 0, 1, 20, 21, 0, 1}));
    EXPECT_THROW(popops::embedding::plan(bench.graph, FLOAT, 4, 2, {3}, {{"usedForUpdates", "true"}}),
                 poplar::invalid_option);
    EXPECT_THROW(popops::embedding::plan(bench.graph, FLOAT, 4, 2, {3}, {{"validateIndices", "zz"}}),
                 poplar::invalid_option);
    EXPECT_THROW(popops::multiSlice(bench.graph, t, offsets.flatten(), {0}, {1}, bench.prog, plan, {}),
                 poputil::poplibs_error);
}

TEST(Loop, LimitsAreTensors) {
    Bench bench;
    const Tensor limit = bench.input(INT, {}, {7});
    const Tensor rounds = bench.input(INT, {}, {0});
    Sequence body;
    popops::mapInPlace(bench.graph, _1 + 1, {rounds}, body);
    bench.prog.add(popops::countedForLoop(bench.graph, 1, limit, 2, body));
    EXPECT_EQ(bench.result(rounds), Values{3}) << "of 1, 3 and 5";
}

TEST(Map, SigmoidOfLargeValues) {
    Bench bench;
    const Tensor t = bench.input(FLOAT, {4}, {-1000, -20, 20, 1000});
    const Values values = bench.result(popops::map(bench.graph, Sigmoid(_1), {t}, bench.prog));
    EXPECT_EQ(values[0], 0);
    EXPECT_NEAR(values[1] / 2.0611537e-9f, 1, 1e-6);
    EXPECT_EQ(values[2], 1);
    EXPECT_EQ(values[3], 1);
}

TEST(Poputil, MappingsAndCopiesBetweenIpus) {
    Bench bench(1, 2, 4);
    const Tensor t = bench.graph.addVariable(FLOAT, {150});
    poputil::mapTensorLinearly(bench.graph, t);
    const auto mapping = bench.graph.getTileMapping(t);
    EXPECT_EQ(mapping[0], (std::vector<poplar::Interval>{{0, 32}}));
    EXPECT_EQ(mapping[4], (std::vector<poplar::Interval>{{128, 150}}));
    const Tensor large = bench.graph.addVariable(HALF, {1001});
    poputil::mapTensorLinearly(bench.graph, large);
    EXPECT_EQ(bench.graph.getTileMapping(large)[0], (std::vector<poplar::Interval>{{0, 128}}));
    EXPECT_EQ(bench.graph.getTileMapping(large)[7], (std::vector<poplar::Interval>{{896, 1001}}));
    const Tensor source = bench.graph.addVariable(FLOAT, {4});
    bench.graph.setTileMapping(source, 2);
    bench.graph.setInitialValue(source, 3.0f);
    const Tensor there = bench.graph.addVariable(FLOAT, {4});
    bench.graph.setTileMapping(there, 6);
    bench.prog.add(Copy(source, there));
    EXPECT_EQ(bench.result(there), Values(4, 3.0f));
}

}  // namespace
