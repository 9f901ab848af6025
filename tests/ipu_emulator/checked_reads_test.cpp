// Reads of elements that nothing has written.
#include <gtest/gtest.h>

#include <poplar/exceptions.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>

#include "ipu_emulator/machine_support.h"

namespace {

using namespace ipu_emulator::test;
using namespace popops::expr;

/// True if a run finds that a program reads elements that nothing has written. `add` adds to the program.
bool finds(const std::function<void(Bench&)>& add) {
    const CheckedReads checked;
    Bench bench;
    add(bench);
    try {
        bench.run();
    } catch (const poplar::application_runtime_error& error) {
        EXPECT_NE(std::string(error.what()).find("written"), std::string::npos) << error.what();
        return true;
    }
    return false;
}

void read(Bench& b, const Tensor& t) {
    popops::map(b.graph, _1 + 1.0f, {t}, b.prog);
}

Tensor row(Bench& b, unsigned number) {
    return b.input(UNSIGNED_INT, {1}, {static_cast<float>(number)});
}

/// [4][2], of which row 2 is written.
Tensor with_row_two(Bench& b) {
    Tensor t = b.variable(FLOAT, {4, 2});
    b.prog.add(Copy(b.input(FLOAT, {2}, {1, 2}), t[2]));
    return t;
}

TEST(CheckedReads, SlicesAreAsWrittenAsTheirRows) {
    for (const auto& [number, unwritten] : {std::pair(1u, true), std::pair(2u, false)}) {
        const auto dynamic = [&, number = number](Bench& b) {
            read(b, popops::dynamicSlice(b.graph, with_row_two(b), row(b, number), {0}, {1}, b.prog));
        };
        EXPECT_EQ(finds(dynamic), unwritten) << number;
    }
    for (const auto& [slice, unwritten] : {std::pair(0u, false), std::pair(1u, true)}) {
        const auto multi = [&, slice = slice](Bench& b) {
            const Tensor offsets = b.input(UNSIGNED_INT, {2, 1}, {2, 3});
            read(b, popops::multiSlice(b.graph, with_row_two(b), offsets, {0}, {1}, b.prog, {}, {})[slice]);
        };
        EXPECT_EQ(finds(multi), unwritten) << slice;
    }
}

TEST(CheckedReads, UpdatesWriteTheirRowsOnly) {
    for (const auto& [number, unwritten] : {std::pair(0u, true), std::pair(2u, false)}) {
        const auto dynamic = [&, number = number](Bench& b) {
            const Tensor t = b.variable(FLOAT, {4, 2});
            popops::dynamicUpdate(b.graph, t, b.input(FLOAT, {1, 2}, {1, 2}), row(b, 2), {0}, {1}, b.prog);
            read(b, t[number]);
        };
        EXPECT_EQ(finds(dynamic), unwritten) << number;
    }
}

TEST(CheckedReads, ADynamicUpdateByWhatIsUnwrittenWritesNothing) {
    EXPECT_TRUE(finds([](Bench& b) {
        const Tensor t = b.input(FLOAT, {4, 2}, Values(8, 0.0f));
        popops::dynamicUpdate(b.graph, t, b.variable(FLOAT, {1, 2}), row(b, 2), {0}, {1}, b.prog);
        read(b, t[2]);
    }));
}

TEST(CheckedReads, AMultiUpdateAddReadsItsRows) {
    for (const auto& [number, unwritten] : {std::pair(1u, true), std::pair(2u, false)}) {
        const auto add = [&, number = number](Bench& b) {
            const Tensor slice = b.input(FLOAT, {1, 1, 2}, {1, 2});
            popops::multiUpdateAdd(b.graph, with_row_two(b), slice, row(b, number).expand({1}), b.input(FLOAT, {}, {1}),
                                   {0}, {1}, b.prog, {}, {});
        };
        EXPECT_EQ(finds(add), unwritten) << number;
    }
}

TEST(CheckedReads, HostReads) {
    const CheckedReads checked;
    Bench bench;
    bench.watch("t", with_row_two(bench));
    bench.run();
    EXPECT_THROW(bench.values("t"), poplar::application_runtime_error);
}

TEST(CheckedReads, RemoteRowsThatNothingHasWritten) {
    const CheckedReads checked;
    Bench bench;
    const auto buffer = bench.graph.addRemoteBuffer("rows", FLOAT, 2, 4);
    const Tensor t = bench.variable(FLOAT, {2});
    bench.prog.add(Copy(bench.input(FLOAT, {2}, {1, 2}), buffer));
    bench.prog.add(Copy(buffer, t));
    read(bench, t);
    bench.engine().load(bench.device);
    EXPECT_NO_THROW(bench.engine().run());
    float memory[2] = {};
    EXPECT_NO_THROW(bench.engine().copyFromRemoteBuffer("rows", memory, 0));
    EXPECT_THROW(bench.engine().copyFromRemoteBuffer("rows", memory, 3), poplar::application_runtime_error);
    bench.engine().copyToRemoteBuffer(memory, "rows", 3);
    EXPECT_NO_THROW(bench.engine().copyFromRemoteBuffer("rows", memory, 3));
}

TEST(CheckedReads, TensorsFromUnwrittenRemoteRows) {
    EXPECT_TRUE(finds([](Bench& b) {
        const auto buffer = b.graph.addRemoteBuffer("rows", FLOAT, 2, 4);
        const Tensor t = b.input(FLOAT, {2}, {1, 2});
        b.prog.add(Copy(buffer, t));
        read(b, t);
    }));
}

}  // namespace
