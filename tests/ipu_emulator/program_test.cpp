#include <gtest/gtest.h>

#include <poplar/DeviceManager.hpp>
#include <poplar/exceptions.hpp>
#include <popops/Cast.hpp>

#include <cmath>
#include <cstdlib>

#include "ipu_emulator/machine_support.h"
#include "ipu_emulator/model/op_run.h"

namespace {

using namespace poplar::program;
using namespace ipu_emulator::test;
using ipu_emulator::test::small_device;

/// t += by, for programs that count.
poplar::Program add(const Tensor& t, int by) {
    return ipu_emulator::make_op({.name = "add", .reads = {t}, .writes = {t}, .run = [by](ipu_emulator::OpRun& run) {
                                      for (std::size_t i = 0; i < run.write().count(); ++i) {
                                          const std::int32_t value = run.read(0).integer(i) + by;
                                          run.write().store(i, 1, &value);
                                      }
                                  }});
}

TEST(Program, SequenceRepeatAndCall) {
    Bench bench;
    const Tensor t = bench.input(INT, {3}, {1, 2, 3});
    const poplar::Function add_five = bench.graph.addFunction(add(t, 5));
    bench.prog = Sequence({Repeat(3, Sequence({add(t, 1), Call(add_five)})), add(t, 100)});
    EXPECT_EQ(bench.result(t), (Values{119, 120, 121}));
}

TEST(Program, CopyReadsItsSourceWholeBeforeItWrites) {
    Bench bench;
    const Tensor t = bench.input(INT, {6}, {0, 1, 2, 3, 4, 5});
    bench.prog.add(Copy(t.slice(0, 5), t.slice(1, 6)));
    bench.prog.add(Copy(t.reverse(0), t));
    EXPECT_EQ(bench.result(t), (Values{4, 3, 2, 1, 0, 0}));
}

TEST(Program, CopyMovesViewsOfAllSizes) {
    for (const poplar::Type type : {BOOL, HALF, FLOAT}) {
        Bench bench;
        const Tensor source = bench.input(type, {2, 3}, {0, 1, 0, 1, 1, 0});
        const Tensor target = bench.variable(type, {3, 2});
        bench.prog.add(Copy(source.transpose(), target));
        EXPECT_EQ(bench.result(target), (Values{0, 1, 1, 1, 0, 0}));
    }
}

TEST(Program, RepeatWhileTrueRunsTheConditionFirst) {
    Bench bench;
    const Tensor rest = bench.input(INT, {}, {4});
    const Tensor count = bench.input(INT, {}, {0});
    bench.prog.add(RepeatWhileTrue(add(rest, -1), rest, add(count, 1)));
    EXPECT_EQ(bench.result(count), (Values{3}));
}

TEST(Program, ReplicasMayTakeDifferentBranches) {
    Bench bench(4);
    const Tensor index = bench.replica_index();
    const Tensor t = bench.input(INT, {1}, {0});
    const Tensor rest = bench.variable(UNSIGNED_INT, {});
    bench.prog.add(If(index, add(t, 1), add(t, 50)));
    bench.prog.add(Copy(index, rest));
    bench.prog.add(RepeatWhileTrue(add(t, 100), rest, add(rest.reinterpret(INT), -1)));
    bench.watch("t", t);
    bench.run();
    EXPECT_EQ(bench.values("t", 0), (Values{150}));
    EXPECT_EQ(bench.values("t", 1), (Values{201}));
    EXPECT_EQ(bench.values("t", 3), (Values{401}));
}

TEST(Program, ReplicasThatDisagreeCannotMeet) {
    Bench bench(2);
    const Tensor index = bench.replica_index();
    const Tensor t = bench.input(INT, {1}, {0});
    const auto stream = bench.graph.addDeviceToHostFIFO("out", INT, 1);
    bench.prog.add(If(index, Copy(t, stream), Sequence()));
    std::vector<int> memory(2);
    bench.engine().connectStream("out", memory.data(), memory.data() + 2);
    EXPECT_THROW(bench.run(), poplar::application_runtime_error);
}

TEST(WrongUse, UnmappedAndDoublyMappedTensors) {
    Bench bench;
    const Tensor t = bench.graph.addVariable(FLOAT, {4}, "weights");
    EXPECT_THROW(bench.graph.getTileMapping(t), poplar::invalid_tile_mapping);
    bench.graph.setTileMapping(t.slice(0, 2), 1);
    bench.prog.add(Copy(bench.variable(FLOAT, {4}), t));
    try {
        bench.engine();
        FAIL() << "an unmapped variable was accepted";
    } catch (const poplar::invalid_tile_mapping& error) {
        EXPECT_NE(std::string(error.what()).find("2 of 4 elements of the variable \"weights\""), std::string::npos)
            << error.what();
    }
    EXPECT_THROW(bench.graph.setTileMapping(t, {{{0, 3}}, {{2, 4}}}), poplar::invalid_tile_mapping);
    EXPECT_THROW(bench.graph.setTileMapping(t, 8), poplar::invalid_tile_mapping);
    EXPECT_THROW(bench.graph.setTileMapping(poplar::concat(t, t), {{{0, 4}}, {{4, 8}}}), poplar::invalid_tile_mapping);
    bench.graph.setTileMapping(t.slice(1, 4), 2);
    EXPECT_NO_THROW(bench.engine());
    const auto mapping = bench.graph.getTileMapping(t);
    EXPECT_EQ(mapping[1], (std::vector<poplar::Interval>{{0, 1}}));
    EXPECT_EQ(mapping[2], (std::vector<poplar::Interval>{{1, 4}}));
}

TEST(WrongUse, UnmappedConstants) {
    Bench bench;
    const Tensor constant = bench.graph.addConstant<float>(FLOAT, {2}, 3.0f);
    bench.prog.add(Copy(constant, bench.variable(FLOAT, {2})));
    EXPECT_THROW(bench.engine(), poplar::invalid_tile_mapping);
}

TEST(WrongUse, WritesThroughAliasesAndToConstants) {
    Bench bench;
    const Tensor t = bench.variable(FLOAT, {2});
    const Tensor source = bench.variable(FLOAT, {4});
    EXPECT_THROW(Copy(source, t.broadcast(2, 0)), poplar::graph_connection_error);
    EXPECT_THROW(Copy(source, poplar::concat(t, t)), poplar::graph_connection_error);
    EXPECT_THROW(Copy(t, bench.graph.addConstant<float>(FLOAT, {2}, 0.0f)), poplar::graph_connection_error);
    EXPECT_THROW(bench.graph.createHostWrite("w", t.broadcast(2, 0)), poplar::graph_connection_error);
}

TEST(WrongUse, TypesAndShapesOfCopies) {
    Bench bench;
    const Tensor t = bench.variable(FLOAT, {2, 3});
    EXPECT_THROW(Copy(t, bench.variable(HALF, {2, 3})), poplar::type_error);
    EXPECT_THROW(Copy(t, bench.variable(FLOAT, {3, 2})), poplar::control_program_error);
    EXPECT_THROW(Copy(t, bench.graph.addDeviceToHostFIFO("a", HALF, 6)), poplar::type_error);
    EXPECT_THROW(Copy(t, bench.graph.addDeviceToHostFIFO("b", FLOAT, 5)), poplar::control_program_error);
    EXPECT_THROW(Copy(t, bench.graph.addHostToDeviceFIFO("c", FLOAT, 6)), poplar::control_program_error);
    EXPECT_THROW(If(t, Sequence(), Sequence()), poplar::control_program_error);
    EXPECT_THROW(If(bench.variable(FLOAT, {}), Sequence(), Sequence()), poplar::type_error);
    EXPECT_THROW(bench.graph.addHostToDeviceFIFO("c", FLOAT, 6), poplar::graph_object_creation_error);
}

TEST(WrongUse, RecursionAndSequencesThatGrowLate) {
    Bench bench;
    Sequence inner;
    const poplar::Function function = bench.graph.addFunction(inner);
    EXPECT_THROW(inner.add(Call(function)), poplar::graph_recursion_error);
    EXPECT_THROW(inner.add(Repeat(2, inner)), poplar::graph_recursion_error);
    EXPECT_THROW(inner.add(Sequence()), poplar::control_program_error);
    Sequence copy = inner;
    EXPECT_NO_THROW(copy.add(Call(function)));
}

TEST(WrongUse, OptionsAreKnownByName) {
    Bench bench;
    EXPECT_THROW(poplar::Engine(bench.graph, bench.prog, {{"debug.nanOverflow", "true"}}), poplar::invalid_option);
    EXPECT_THROW(poplar::Engine(bench.graph, bench.prog, {{"debug.nanOverflowMode", "yes"}}), poplar::invalid_option);
    EXPECT_THROW(
        bench.graph.addHostToDeviceFIFO("x", FLOAT, 1, poplar::ReplicatedStreamMode::REPLICATE, {{"depth", "2"}}),
        poplar::invalid_option);
    EXPECT_THROW(poplar::Target::createIPUTarget(1, "ipu3"), poplar::invalid_option);
}

TEST(WrongUse, ValuesOfOptionsAreChecked) {
    Bench bench;
    for (const auto& [name, value] :
         std::vector<std::pair<std::string, std::string>>{{"debug.instrument", "zz"},
                                                          {"prng.seed", "-1"},
                                                          {"prng.seed", "1.5"},
                                                          {"prng.seed", "18446744073709551616"},
                                                          {"autoReport.executionProfileProgramRunCount", "few"}}) {
        EXPECT_THROW(poplar::Engine(bench.graph, bench.prog, {{name, value}}), poplar::invalid_option) << name;
    }
    EXPECT_NO_THROW(poplar::Engine(bench.graph, bench.prog, {{"prng.seed", "18446744073709551615"}}));
}

/// POPLAR_ENGINE_OPTIONS while it lives.
struct EngineOptions {
    explicit EngineOptions(const char* text) { setenv("POPLAR_ENGINE_OPTIONS", text, 1); }
    ~EngineOptions() { unsetenv("POPLAR_ENGINE_OPTIONS"); }
};

TEST(Engine, TheEnvironmentOverridesOptions) {
    const EngineOptions environment(" { \"debug.nanOverflowMode\" : \"true\", \"prng.seed\":\"5\" } ");
    Bench bench;
    const Tensor big = bench.input(FLOAT, {1}, {1e9f});
    const Tensor half = bench.variable(HALF, {1});
    bench.prog.add(popops::cast(bench.graph, big, half));
    EXPECT_TRUE(std::isnan(bench.result(half, {{"debug.nanOverflowMode", "false"}})[0]));
}

TEST(Engine, OptionsOfTheEnvironmentAreChecked) {
    for (const char* text : {"", "{", "{\"prng.seed\":5}", "{\"prng.seed\":\"x\"}", "{\"seed\":\"5\"}", "{} {}"}) {
        const EngineOptions environment(text);
        Bench bench;
        EXPECT_THROW(bench.engine(), poplar::invalid_option) << text;
    }
    const EngineOptions none("{}");
    Bench bench;
    EXPECT_NO_THROW(bench.engine());
}

TEST(Engine, DoesNotSeeWhatIsAddedAfterIt) {
    Bench bench;
    const Tensor t = bench.input(INT, {4}, {1, 2, 3, 4});
    bench.prog.add(add(t, 1));
    bench.watch("t", t);
    bench.engine();
    for (int i = 0; i < 200; ++i)
        bench.graph.addVariable(FLOAT, {1000}, "late");
    bench.graph.addHostToDeviceFIFO("late", FLOAT, 1);
    bench.graph.addRemoteBuffer("late buffer", FLOAT, 1);
    bench.graph.setInitialValue(t, 50);
    bench.run();
    EXPECT_EQ(bench.values("t"), (Values{2, 3, 4, 5}));
    float value = 0;
    EXPECT_THROW(bench.engine().connectStream("late", &value), poplar::stream_connection_error);
    EXPECT_THROW(bench.engine().copyToRemoteBuffer(&value, "late buffer", 0), poplar::stream_connection_error);
}

TEST(Engine, OutlivesItsGraph) {
    const poplar::Device device = small_device();
    std::unique_ptr<poplar::Engine> engine;
    {
        poplar::Graph graph(device);
        const Tensor t = linear_variable(graph, INT, {2}, "t");
        graph.setInitialValue(t, 1);
        graph.createHostRead("t", t);
        const poplar::Function function = graph.addFunction(add(t, 5));
        engine = std::make_unique<poplar::Engine>(graph, Sequence({Call(function)}));
    }
    engine->load(device);
    engine->run();
    int values[2] = {};
    engine->readTensor("t", values, values + 2);
    EXPECT_EQ(values[1], 6);
}

TEST(WrongUse, OtherGraphsAndDevices) {
    Bench bench;
    Bench other;
    bench.prog.add(Copy(other.variable(FLOAT, {1}), other.variable(FLOAT, {1})));
    EXPECT_THROW(bench.engine(), poplar::control_program_error);
    Bench third;
    third.prog.add(Call(other.graph.addFunction(Sequence())));
    EXPECT_THROW(third.engine(), poplar::control_program_error);
    EXPECT_THROW(poplar::Graph(small_device(3), poplar::replication_factor(2)), poplar::graph_replication_error);
    EXPECT_THROW(other.engine().load(small_device(2)), poplar::graph_replication_error);
    EXPECT_THROW(other.engine().run(), poplar::runtime_error);
    other.engine().load(other.device);
    EXPECT_THROW(other.engine().run(1), poplar::index_error);
    float value = 0;
    EXPECT_THROW(other.engine().readTensor("none", &value, &value + 1), poplar::tensor_io_state_error);
}

TEST(WrongUse, ReadsOfWhatNothingHasWritten) {
    const CheckedReads checked;
    {
        Bench bench;
        const Tensor t = bench.variable(INT, {2});
        const Tensor u = bench.variable(INT, {2});
        bench.prog.add(Copy(bench.input(INT, {1}, {3}), t.slice(0, 1)));
        bench.prog.add(Copy(t, u));
        bench.prog.add(add(u.slice(0, 1), 1));
        bench.watch("u", u.slice(0, 1));
        bench.run();
        EXPECT_EQ(bench.values("u"), (Values{4}));
    }
    {
        Bench bench;
        const Tensor t = bench.variable(INT, {2});
        bench.prog.add(Copy(bench.input(INT, {1}, {3}), t.slice(0, 1)));
        bench.prog.add(add(t, 1));
        EXPECT_THROW(bench.run(), poplar::application_runtime_error);
    }
}

TEST(WrongUse, HandlesAreGivenOnce) {
    Bench bench;
    const Tensor t = bench.variable(INT, {1});
    bench.graph.createHostRead("t", t);
    bench.graph.createHostWrite("t", t);
    EXPECT_THROW(bench.graph.createHostRead("t", t), poplar::graph_object_creation_error);
    EXPECT_THROW(bench.graph.createHostWrite("t", t), poplar::graph_object_creation_error);
}

TEST(Graph, MappingsOfViewsOfHalfMappedVariables) {
    Bench bench;
    using Intervals = std::vector<poplar::Interval>;
    const Tensor t = bench.graph.addVariable(FLOAT, {10});
    bench.graph.setTileMapping(t.slice(3, 7), 1);
    for (const Tensor& view : {t, t.reverse(0), t.subSample(2, 0), t.reverse(0).subSample(3, 0)})
        EXPECT_THROW(bench.graph.getTileMapping(view), poplar::invalid_tile_mapping);
    EXPECT_EQ(bench.graph.getTileMapping(t.reverse(0), false)[1], (Intervals{{3, 7}}));
    EXPECT_EQ(bench.graph.getTileMapping(t.subSample(2, 0), false)[1], (Intervals{{2, 4}}));
    EXPECT_EQ(bench.graph.getTileMapping(t.reverse(0).subSample(3, 0), false)[1], (Intervals{{1, 3}}));
    bench.graph.setTileMapping(t.slice(7, 10), 2);
    EXPECT_EQ(bench.graph.getTileMapping(t.subSample(2, 0), false)[2], (Intervals{{4, 5}}));
    EXPECT_EQ(bench.graph.getTileMapping(t.reverse(0), false)[2], (Intervals{{0, 3}}));
}

TEST(Graph, ClonesHaveNoAliases) {
    Bench bench;
    const Tensor bias = bench.graph.addVariable(FLOAT, {2});
    bench.graph.setTileMapping(bias, 3);
    const Tensor t = bias.expand({1}).broadcast(3, 1);
    const Tensor dense = bench.graph.clone(t, "dense");
    EXPECT_EQ(dense.shape(), t.shape());
    EXPECT_FALSE(dense.containsAliases());
    EXPECT_EQ(bench.graph.getTileMapping(dense)[3].size(), 1u);
}

TEST(Graph, VirtualGraphsAreRangesOfTiles) {
    Bench bench(1, 2, 4);
    EXPECT_EQ(bench.graph.getTarget().getNumTiles(), 8u);
    poplar::Graph second = bench.graph.createVirtualGraph(4, 8);
    EXPECT_EQ(second.getTarget().getNumIPUs(), 1u);
    const Tensor t = second.addVariable(FLOAT, {2});
    second.setTileMapping(t, 1);
    EXPECT_EQ(bench.graph.getTileMapping(t)[5], (std::vector<poplar::Interval>{{0, 2}}));
    EXPECT_THROW(bench.graph.createVirtualGraph(0, 4).getTileMapping(t), poplar::invalid_tile_mapping);
    EXPECT_THROW(bench.graph.createVirtualGraph(4, 9), poplar::invalid_tile_mapping);
}

TEST(Graph, DevicesAndTargets) {
    const auto manager = poplar::DeviceManager::createDeviceManager();
    EXPECT_EQ(manager.getDevices(poplar::TargetType::IPU, 4).size(), 1u);
    EXPECT_EQ(manager.getDevices(poplar::TargetType::IPU, 3).size(), 0u);
    EXPECT_EQ(manager.getDevice(2).getTarget().getNumIPUs(), 4u);
    EXPECT_EQ(poplar::Target::createIPUTarget(2, "ipu2").getNumTiles(), 2944u);
    EXPECT_EQ(small_device(2, 16).getTarget().getNumTiles(), 32u);
}

TEST(Engine, HostReadsAndWritesMoveReplicas) {
    Bench bench(2);
    const Tensor t = bench.variable(FLOAT, {2, 2});
    bench.graph.createHostWrite("w", t.transpose());
    bench.watch("t", t);
    bench.engine().load(bench.device);
    const Values one{1, 2, 3, 4};
    bench.engine().writeTensor("w", one.data(), one.data() + 4);
    EXPECT_EQ(bench.values("t", 1), (Values{1, 3, 2, 4}));
    const Values both{1, 2, 3, 4, 5, 6, 7, 8};
    bench.engine().writeTensor("w", both.data(), both.data() + 8);
    EXPECT_EQ(bench.values("t", 1), (Values{5, 7, 6, 8}));
    EXPECT_THROW(bench.engine().writeTensor("w", both.data(), both.data() + 5), poplar::tensor_io_state_error);
}

TEST(Engine, ExceptionsOfThreadsReachTheCaller) {
    const HostThreads host(3);
    Bench bench(4);
    const Tensor t = bench.input(INT, {1}, {0});
    bench.prog.add(
        ipu_emulator::make_op({.name = "fail", .reads = {}, .writes = {t}, .run = [](ipu_emulator::OpRun& run) {
                                   if (run.replica() == 2) throw std::domain_error("replica 2");
                               }}));
    EXPECT_THROW(bench.run(), std::domain_error);
}

}  // namespace
