#include <gtest/gtest.h>

#include <poplar/exceptions.hpp>

#include "ipu_emulator/machine_support.h"

namespace {

using namespace poplar::program;
using namespace ipu_emulator::test;
using poplar::ReplicatedStreamMode;

/// Writes down what it is asked, and delivers 0, 1, 2, ...
struct Recorder : poplar::StreamCallback {
    Recorder(std::string& log, bool is_ahead) : calls(log), ahead(is_ahead) {}
    Result prefetch(void* buffer) override {
        calls += ahead ? 'p' : 'n';
        if (!ahead) return Result::NotAvailable;
        *static_cast<int*>(buffer) = next++;
        return Result::Success;
    }
    void fetch(void* buffer) override {
        calls += 'f';
        *static_cast<int*>(buffer) = next++;
    }
    void complete() override {
        calls += 'c';
        ++completed;
    }
    void invalidatePrefetched() override {
        calls += 'i';
        next = completed;
    }

    std::string& calls;
    bool ahead;
    int next = 0;
    int completed = 0;
};

/// The calls of three transfers in a run, and the values that came.
std::pair<std::string, Values> three_transfers(bool prefetch, unsigned depth, bool ahead, unsigned runs = 1) {
    Bench bench;
    const auto stream = bench.graph.addHostToDeviceFIFO("in", INT, 1, ReplicatedStreamMode::REPLICATE,
                                                        {{"bufferingDepth", std::to_string(depth)}});
    const Tensor t = bench.variable(INT, {3});
    for (unsigned i = 0; i < 3; ++i)
        bench.prog.add(Copy(stream, t.slice(i, i + 1)));
    bench.watch("t", t);
    std::string calls;
    bench.engine({{"exchange.enablePrefetch", prefetch ? "true" : "false"}})
        .connectStreamToCallback("in", std::make_unique<Recorder>(calls, ahead));
    bench.engine().load(bench.device);
    for (unsigned i = 0; i < runs; ++i)
        bench.engine().run();
    return {calls, bench.values("t")};
}

TEST(Streams, CallbacksWithoutPrefetch) {
    const auto [calls, values] = three_transfers(false, 2, true);
    EXPECT_EQ(calls, "fcfcfc");
    EXPECT_EQ(values, (Values{0, 1, 2}));
}

TEST(Streams, CallbacksWithPrefetchAheadOfUse) {
    const auto [calls, values] = three_transfers(true, 2, true);
    EXPECT_EQ(calls, "pcppcpcpi") << "two buffers are filled ahead, and dropped at the end of the run";
    EXPECT_EQ(values, (Values{0, 1, 2}));
}

TEST(Streams, DroppedDataIsDeliveredInTheNextRun) {
    const auto [calls, values] = three_transfers(true, 3, true, 2);
    EXPECT_EQ(values, (Values{3, 4, 5})) << calls;
}

TEST(Streams, FetchWhereNothingIsAhead) {
    const auto [calls, values] = three_transfers(true, 2, false);
    EXPECT_EQ(calls, "nfcnnfcnnfcn");
    EXPECT_EQ(values, (Values{0, 1, 2}));
}

TEST(Streams, MemoryIsReadFromTheStartAgain) {
    Bench bench;
    const auto in = bench.graph.addHostToDeviceFIFO("in", FLOAT, 2);
    const auto out = bench.graph.addDeviceToHostFIFO("out", FLOAT, 2);
    const Tensor t = bench.variable(FLOAT, {2});
    bench.prog.add(Repeat(3, Sequence({Copy(in, t), Copy(t.reverse(0), out)})));
    Values data{1, 2, 3, 4};
    Values result(6);
    bench.engine().connectStream("in", data.data(), data.data() + 4);
    bench.engine().connectStream("out", result.data(), result.data() + 6);
    bench.run();
    EXPECT_EQ(result, (Values{2, 1, 4, 3, 2, 1}));
}

TEST(Streams, ReplicasTakeTurnsOrShare) {
    for (const auto mode : {ReplicatedStreamMode::REPLICATE, ReplicatedStreamMode::BROADCAST}) {
        Bench bench(2);
        const auto in = bench.graph.addHostToDeviceFIFO("in", INT, 1, mode);
        const Tensor t = bench.variable(INT, {1});
        bench.prog.add(Copy(in, t));
        bench.watch("t", t);
        int next = 10;
        int calls = 0;
        bench.engine().connectStreamToCallback("in", [&](void* buffer) {
            *static_cast<int*>(buffer) = next++;
            ++calls;
        });
        bench.run();
        const bool shared = mode == ReplicatedStreamMode::BROADCAST;
        EXPECT_EQ(calls, shared ? 1 : 2);
        EXPECT_EQ(bench.values("t", 0)[0], 10);
        EXPECT_EQ(bench.values("t", 1)[0], shared ? 10 : 11);
    }
}

TEST(Streams, EachReplicaHasItsCallback) {
    Bench bench(2);
    const auto out = bench.graph.addDeviceToHostFIFO("out", UNSIGNED_INT, 1);
    const Tensor index = bench.replica_index();
    bench.prog.add(Copy(index, out));
    std::vector<unsigned> got(2, 9);
    for (unsigned i = 0; i < 2; ++i) {
        bench.engine().connectStreamToCallback("out", i,
                                               [&got, i](void* data) { got[i] = *static_cast<unsigned*>(data); });
    }
    bench.run();
    EXPECT_EQ(got, (std::vector<unsigned>{0, 1}));
    EXPECT_THROW(bench.engine().connectStreamToCallback("out", 2, [](void*) {}), poplar::stream_connection_error);
}

TEST(Streams, UnconnectedAndUnknownOnes) {
    Bench bench;
    const auto in = bench.graph.addHostToDeviceFIFO("in", INT, 1);
    bench.prog.add(Copy(in, bench.variable(INT, {1})));
    EXPECT_THROW(bench.run(), poplar::stream_connection_error);
    int value = 0;
    EXPECT_THROW(bench.engine().connectStream("on", &value), poplar::stream_connection_error);
    EXPECT_THROW(bench.engine().connectStream("in", &value, &value), poplar::stream_connection_error);
}

TEST(Streams, WhatIsConnectedLastCounts) {
    Bench bench;
    const auto in = bench.graph.addHostToDeviceFIFO("in", INT, 1);
    const Tensor t = bench.variable(INT, {1});
    bench.prog.add(Copy(in, t));
    bench.watch("t", t);
    bench.engine().load(bench.device);
    const auto delivered = [&] {
        bench.engine().run();
        return bench.values("t")[0];
    };
    const auto giving = [](int value) { return [value](void* buffer) { *static_cast<int*>(buffer) = value; }; };
    int memory = 3;
    bench.engine().connectStreamToCallback("in", 0, giving(1));
    EXPECT_EQ(delivered(), 1);
    bench.engine().connectStreamToCallback("in", giving(2));
    EXPECT_EQ(delivered(), 2);
    bench.engine().connectStream("in", &memory);
    EXPECT_EQ(delivered(), 3);
    bench.engine().connectStreamToCallback("in", 0, giving(4));
    EXPECT_EQ(delivered(), 4);
}

TEST(Streams, ARunThatThrowsDropsPrefetchedData) {
    Bench bench;
    const auto in =
        bench.graph.addHostToDeviceFIFO("in", INT, 1, ReplicatedStreamMode::REPLICATE, {{"bufferingDepth", "2"}});
    const auto out = bench.graph.addDeviceToHostFIFO("out", INT, 1);
    const Tensor t = bench.variable(INT, {1});
    bench.prog = Sequence({Copy(in, t), Copy(t, out)});
    bench.watch("t", t);
    std::string calls;
    bool fails = true;
    bench.engine({{"exchange.enablePrefetch", "true"}})
        .connectStreamToCallback("in", std::make_unique<Recorder>(calls, true));
    bench.engine().connectStreamToCallback("out", [&](void*) {
        if (fails) throw std::domain_error("the host's own");
    });
    bench.engine().load(bench.device);
    EXPECT_THROW(bench.engine().run(), std::domain_error);
    EXPECT_EQ(calls, "pcppi");
    fails = false;
    bench.engine().run();
    EXPECT_EQ(bench.values("t")[0], 1) << "the data that was dropped is delivered again";
}

TEST(Streams, BelongToTheGraphOfTheTensor) {
    Bench bench;
    Bench other;
    const Tensor t = bench.variable(INT, {1});
    const auto buffer = other.graph.addRemoteBuffer("rows", INT, 1);
    EXPECT_THROW(Copy(other.graph.addHostToDeviceFIFO("in", INT, 1), t), poplar::control_program_error);
    EXPECT_THROW(Copy(t, other.graph.addDeviceToHostFIFO("out", INT, 1)), poplar::control_program_error);
    EXPECT_THROW(Copy(buffer, t), poplar::control_program_error);
    EXPECT_THROW(Copy(t, buffer), poplar::control_program_error);
    EXPECT_THROW(Copy(t, other.variable(INT, {1})), poplar::control_program_error);
}

TEST(RemoteBuffers, ReplicasHaveRowsOfTheirOwn) {
    Bench bench(2);
    const auto buffer = bench.graph.addRemoteBuffer("rows", FLOAT, 2, 4);
    const Tensor t = bench.variable(FLOAT, {2});
    bench.prog.add(Copy(buffer, t));
    bench.prog.add(Copy(t.reverse(0), buffer));
    bench.watch("t", t);
    bench.engine().load(bench.device);
    for (unsigned replica = 0; replica < 2; ++replica) {
        for (unsigned row = 0; row < 4; ++row) {
            Values values{row + 10.0f * replica, 0.5f};
            bench.engine().copyToRemoteBuffer(values.data(), "rows", row, replica);
        }
    }
    bench.engine().run();
    EXPECT_EQ(bench.values("t", 0), (Values{0, 0.5}));
    EXPECT_EQ(bench.values("t", 1), (Values{10, 0.5}));
    Values back(2);
    bench.engine().copyFromRemoteBuffer("rows", back.data(), 0, 1);
    EXPECT_EQ(back, (Values{0.5, 10}));
    bench.engine().copyFromRemoteBuffer("rows", back.data(), 1, 0);
    EXPECT_EQ(back[0], 1);
    bench.engine().copyFromRemoteBuffer("rows", back.data(), 1, 1);
    EXPECT_EQ(back[0], 11);
    EXPECT_THROW(bench.engine().copyFromRemoteBuffer("rows", back.data(), 4, 0), poplar::index_error);
    EXPECT_THROW(bench.engine().copyFromRemoteBuffer("row", back.data(), 0, 0), poplar::stream_connection_error);
    EXPECT_THROW(Copy(buffer, bench.variable(FLOAT, {4})), poplar::control_program_error);
    EXPECT_THROW(Copy(buffer, bench.variable(INT, {2})), poplar::type_error);
}

}  // namespace
