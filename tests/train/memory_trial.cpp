#include "train/memory_trial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "support/faults.h"
#include "support/faulty_memory.h"
#include "support/temporary_folder.h"
#include "support/words.h"

namespace cnntrain::run::testing {
namespace {

constexpr int kMemoryExitCode = 4;

struct Ended {
    int exit_code = 0;
    std::string text = {};         // on both streams
    std::int64_t allocations = 0;  // of the sizes that can fail
};

/// Runs a command in which the fault may strike an allocation of these sizes.
Ended run_command(const std::string& line, const test::Sizes& sizes, test::Fault& fault) {
    const std::string program = "cnntrain";
    const std::vector<std::string> words = test::words(line);
    Ended ended;
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    {
        const test::FaultyMemory memory(sizes, kSpared, fault);
        ended.exit_code = cli::run_program(program, words);
        ended.allocations = memory.counted();
    }
    ended.text = ::testing::internal::GetCapturedStdout() + ::testing::internal::GetCapturedStderr();
    return ended;
}

void try_sizes(const Subject& subject, const test::Sizes& sizes, std::int64_t most_faults) {
    const test::TemporaryFolder whole;
    test::Fault none(0);
    const auto line = [&](const std::string& folder) {
        return std::string(options::name(subject.command)) + " " + line_alone(subject, folder);
    };
    run_command(line(whole / "first"), sizes, none);  // allocates what stays in the process
    const Ended ended = run_command(line(whole / "run"), sizes, none);
    ASSERT_EQ(ended.exit_code, 0) << ended.text;
    const Result undisturbed = result(subject, posix_files(), whole / "run");
    const int step = std::max(1, static_cast<int>(ended.allocations / most_faults));
    const auto attempt = [&](test::Fault& fault) {
        const test::TemporaryFolder folder;
        const std::string run = folder / "run";
        const Ended first = run_command(line(run), sizes, fault);
        EXPECT_TRUE(first.exit_code == kMemoryExitCode || first.exit_code == 0)
            << first.exit_code << ": " << first.text;
        if (!fault.struck().empty()) fault.strike(first.exit_code == 0 ? "without an error" : "out of memory");
        expect_whole_files(posix_files(), run);
        const bool restores = is_restorable(posix_files(), run);
        const Ended second = run_command(restores ? "restore --restore-path " + run : line(run), sizes, none);
        EXPECT_EQ(second.exit_code, 0) << second.text;
        EXPECT_EQ(result(subject, posix_files(), run), undisturbed) << first.text;
    };
    test::try_faults(attempt, [&](int number) { return number + step; });
}

}  // namespace

void try_large_blocks(const Subject& subject) {
    Subject larger = subject;
    larger.alone += " --micro-batch-size 8";
    try_sizes(larger, {.least = kLargeBytes + 1}, std::numeric_limits<std::int64_t>::max());
}

void try_small_blocks(const Subject& subject, int faults) {
    try_sizes(subject, {.most = kLargeBytes}, faults);
}

}  // namespace cnntrain::run::testing
