// Reads of what nothing has written, element by element.
#include <gtest/gtest.h>

#include <poplar/exceptions.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>

#include "ipu_emulator/machine_support.h"
#include "ipu_emulator/model/machine.h"

namespace {

using namespace ipu_emulator::test;
using namespace popops::expr;
using poplar::FLOAT;
using poplar::Tensor;
using poplar::UNSIGNED_INT;
using poplar::program::Copy;
using Values = std::vector<float>;

class CheckedReads : public testing::Test {
protected:
    CheckedReads() { ipu_emulator::check_reads(true); }
    ~CheckedReads() override { ipu_emulator::check_reads(before_); }

    Tensor row(unsigned number) { return bench.input(UNSIGNED_INT, {1}, {static_cast<float>(number)}); }
    /// Reads `t` and says whether that was found.
    bool found(const Tensor& t) {
        popops::map(bench.graph, _1 + 1.0f, {t}, bench.prog);
        return run_finds_it();
    }
    bool run_finds_it() {
        try {
            bench.run();
        } catch (const poplar::application_runtime_error& error) {
            EXPECT_NE(std::string(error.what()).find("written"), std::string::npos) << error.what();
            return true;
        }
        return false;
    }

    Bench bench;

private:
    bool before_ = ipu_emulator::checks_reads();
};

/// [4][2], of which row 2 is written.
Tensor with_row_two(Bench& bench) {
    const Tensor t = bench.variable(FLOAT, {4, 2});
    bench.prog.add(Copy(bench.input(FLOAT, {2}, {1, 2}), t[2]));
    return t;
}

TEST_F(CheckedReads, ADynamicSliceIsAsWrittenAsItsRows) {
    const Tensor slice = popops::dynamicSlice(bench.graph, with_row_two(bench), row(1), {0}, {1}, bench.prog);
    EXPECT_TRUE(found(slice));
}

TEST_F(CheckedReads, ADynamicSliceOfAWrittenRowMayBeRead) {
    const Tensor slice = popops::dynamicSlice(bench.graph, with_row_two(bench), row(2), {0}, {1}, bench.prog);
    EXPECT_FALSE(found(slice));
}

TEST_F(CheckedReads, AMultiSliceIsAsWrittenAsItsRows) {
    const Tensor offsets = bench.input(UNSIGNED_INT, {2, 1}, {2, 3});
    const Tensor slices =
        popops::multiSlice(bench.graph, with_row_two(bench), offsets, {0}, {1}, bench.prog, popops::SlicePlan(), {});
    EXPECT_FALSE(found(slices[0]));
}

TEST_F(CheckedReads, AMultiSliceOfAnUnwrittenRow) {
    const Tensor offsets = bench.input(UNSIGNED_INT, {2, 1}, {2, 3});
    const Tensor slices =
        popops::multiSlice(bench.graph, with_row_two(bench), offsets, {0}, {1}, bench.prog, popops::SlicePlan(), {});
    EXPECT_TRUE(found(slices[1]));
}

TEST_F(CheckedReads, ADynamicUpdateWritesItsRowsOnly) {
    const Tensor t = bench.variable(FLOAT, {4, 2});
    popops::dynamicUpdate(bench.graph, t, bench.input(FLOAT, {1, 2}, {1, 2}), row(2), {0}, {1}, bench.prog);
    popops::map(bench.graph, _1 + 1.0f, {t[2]}, bench.prog);
    EXPECT_TRUE(found(t[0]));
}

TEST_F(CheckedReads, ADynamicUpdateByWhatIsUnwrittenWritesNothing) {
    const Tensor t = bench.input(FLOAT, {4, 2}, Values(8, 0.0f));
    popops::dynamicUpdate(bench.graph, t, bench.variable(FLOAT, {1, 2}), row(2), {0}, {1}, bench.prog);
    EXPECT_TRUE(found(t[2]));
}

TEST_F(CheckedReads, AMultiUpdateWritesItsRowsOnly) {
    const Tensor t = bench.variable(FLOAT, {4, 2});
    popops::multiUpdate(bench.graph, t, bench.input(FLOAT, {1, 1, 2}, {1, 2}), row(2).expand({1}), {0}, {1}, bench.prog,
                        popops::SlicePlan(), {});
    popops::map(bench.graph, _1 + 1.0f, {t[2]}, bench.prog);
    EXPECT_TRUE(found(t[0]));
}

TEST_F(CheckedReads, AMultiUpdateAddReadsItsRows) {
    const Tensor t = with_row_two(bench);
    const Tensor scale = bench.input(FLOAT, {}, {1});
    const Tensor slice = bench.input(FLOAT, {1, 1, 2}, {1, 2});
    popops::multiUpdateAdd(bench.graph, t, slice, row(2).expand({1}), scale, {0}, {1}, bench.prog, popops::SlicePlan(),
                           {});
    EXPECT_FALSE(run_finds_it());
}

TEST_F(CheckedReads, AMultiUpdateAddToAnUnwrittenRow) {
    const Tensor t = with_row_two(bench);
    const Tensor scale = bench.input(FLOAT, {}, {1});
    const Tensor slice = bench.input(FLOAT, {1, 1, 2}, {1, 2});
    popops::multiUpdateAdd(bench.graph, t, slice, row(1).expand({1}), scale, {0}, {1}, bench.prog, popops::SlicePlan(),
                           {});
    EXPECT_TRUE(run_finds_it());
}

TEST_F(CheckedReads, HostReads) {
    bench.watch("t", with_row_two(bench));
    bench.run();
    EXPECT_THROW(bench.values("t"), poplar::application_runtime_error);
}

TEST_F(CheckedReads, OffsetsOfRemoteRows) {
    const auto buffer = bench.graph.addRemoteBuffer("rows", FLOAT, 2, 4);
    bench.prog.add(Copy(bench.input(FLOAT, {2}, {1, 2}), buffer, bench.variable(UNSIGNED_INT, {1})));
    EXPECT_TRUE(run_finds_it());
}

TEST_F(CheckedReads, RemoteRowsThatNothingHasWritten) {
    const auto buffer = bench.graph.addRemoteBuffer("rows", FLOAT, 2, 4);
    const Tensor t = bench.variable(FLOAT, {2, 2});
    bench.prog.add(Copy(bench.input(FLOAT, {2}, {1, 2}), buffer, row(2)));
    bench.prog.add(Copy(buffer, t, bench.input(UNSIGNED_INT, {2}, {2, 3})));
    popops::map(bench.graph, _1 + 1.0f, {t[0]}, bench.prog);
    bench.engine().load(bench.device);
    EXPECT_NO_THROW(bench.engine().run());
    float memory[2] = {};
    EXPECT_NO_THROW(bench.engine().copyFromRemoteBuffer("rows", memory, 2));
    EXPECT_THROW(bench.engine().copyFromRemoteBuffer("rows", memory, 3), poplar::application_runtime_error);
    bench.engine().copyToRemoteBuffer(memory, "rows", 3);
    EXPECT_NO_THROW(bench.engine().copyFromRemoteBuffer("rows", memory, 3));
}

TEST_F(CheckedReads, TensorsFromUnwrittenRemoteRows) {
    const auto buffer = bench.graph.addRemoteBuffer("rows", FLOAT, 2, 4);
    const Tensor t = bench.input(FLOAT, {2}, {1, 2});
    bench.prog.add(Copy(buffer, t));
    EXPECT_TRUE(found(t));
}

}  // namespace
