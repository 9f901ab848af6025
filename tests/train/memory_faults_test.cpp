// Faults by number in memory: the n-th operator new of a whole command fails. An executable of its own, because it
// replaces operator new.
#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include "backend/cpu/run/lanes.h"
#include "cnntrain/base/io.h"
#include "cnntrain/options/option.h"
#include "support/faults.h"
#include "support/faulty_memory.h"
#include "support/temporary_folder.h"
#include "train/memory_trial.h"

namespace cnntrain::run::testing {
namespace {

/// A training without validations, which memory_faults_slow_test.cpp has.
Subject short_training() {
    Subject subject = image_network();
    subject.alone = " --iterations 2 --ckpts-per-epoch 80 --no-validation";
    return subject;
}

TEST(MemoryFaults, OfLargeBlocksLoseNothing) {
    try_large_blocks(short_training());
}

TEST(MemoryFaults, OfSmallBlocksLoseNothing) {
    try_small_blocks(short_training(), 300);
}

/// Calls `work` until none of its allocations fails; `check` follows each call.
template <typename Work, typename Check> void try_every_allocation(const Work& work, const Check& check) {
    const auto tried = test::try_every_fault([&](test::Fault& fault) {
        bool failed = false;
        {
            const test::FaultyMemory memory({}, kSpared, fault);
            try {
                work();
            } catch (const std::bad_alloc&) {
                failed = true;
            }
        }
        EXPECT_EQ(failed, !fault.struck().empty());
        check();
    });
    EXPECT_TRUE(tried.contains("allocation"));
}

/// Threads that have started must end when another one cannot start.
TEST(MemoryFaults, OfLanesEndTheOthers) {
    try_every_allocation([] { const cpu::Lanes lanes({1, 1, 1}); }, [] {});
}

TEST(MemoryFaults, OfAFileLeaveNoTemporaryOne) {
    const test::TemporaryFolder folder;
    const std::string path = folder / "a_file_with_a_long_name";
    try_every_allocation([&] { write_text(posix_files(), path, "text"); },
                         [&] { expect_whole_files(posix_files(), folder.path()); });
}

TEST(MemoryFaults, OfACopiedOptionEndNothing) {
    const std::vector<options::Value> values = {std::string("longer than what a string holds itself"),
                                                std::vector<std::int64_t>{1}, std::vector<double>{0.5},
                                                std::vector<std::string>{"a"}};
    for (const options::Value& value : values)
        try_every_allocation([&] { const std::vector<options::Value> copies(1, value); }, [] {});
}

}  // namespace
}  // namespace cnntrain::run::testing
