// Memory, disk and time: what a dry run and a run say of them, against what the run takes.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <regex>
#include <string>

#include "cli/shell.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::cli {
namespace {

const std::string kTrain =
    "train --dataset cifar-10 --generated-data --model-size 8 --no-validation --threads 1 --input-threads 1 "
    "--iterations 4 --log-freq 1 ";

/// The number of the only match in MB.
double megabytes(const std::string& text, const std::string& pattern) {
    std::smatch match;
    if (!std::regex_search(text, match, std::regex(pattern))) return 0;
    const double scale = match[2] == "GB" ? 1000 : 1;
    return scale * std::stod(match[1]);
}

#ifndef CNNTRAIN_SANITIZED
/// The most memory that the program held while it ran with these arguments; 0 when it failed.
double peak_megabytes(const std::string& arguments) {
    const std::string line = std::string("exec ") + CNNTRAIN_PROGRAM + " " + arguments + " >/dev/null 2>&1";
    const pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
        _exit(127);
    }
    int status = 0;
    rusage usage{};
    if (wait4(child, &status, 0, &usage) != child || status != 0) return 0;
    return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}

TEST(Resources, PeakMemoryIsWithinATenthOfTheEstimate) {
    const test::TemporaryFolder folder;
    for (const std::string more : {"--micro-batch-size 32 ", "--micro-batch-size 512 --precision 32.32 "}) {
        const std::string line = kTrain + more + "--logs-path " + folder / ("run" + std::to_string(more.size()));
        const double estimate = megabytes(run(line + " --dry-run").text, "Memory: +about ([0-9.]+) ([MG]B)");
        const double peak = peak_megabytes(line);
        EXPECT_GT(peak, 10);
        EXPECT_NEAR(estimate / peak, 1, 0.1) << more << estimate << " MB were expected, " << peak << " MB were taken";
    }
}

/// Validations have executables, threads and batches of their own.
TEST(Resources, ARunThatBeginsUnderALimitEnds) {
    const test::TemporaryFolder folder;
    const std::string photos = folder / "photos";
    ASSERT_EQ(run("dataset photos --train 16 --validation 8 --output-dir " + photos).exit_code, 0);
    int ended = 0;
    for (const int megabytes : {170, 180, 190, 200, 210, 220, 260, 300, 400}) {
        const std::string place = folder / ("run" + std::to_string(megabytes));
        const Outcome outcome =
            shell("ulimit -v " + std::to_string(1000 * megabytes) + "; " + CNNTRAIN_PROGRAM + " train --data-dir " +
                  photos + " --model-size 8 --batch-norm --image-size 32 --threads 1 --epochs 2 --micro-batch-size 2 " +
                  "--abs-learning-rate 0.01 --validate-every 1 --logs-path " + place);
        const bool has_begun = std::filesystem::exists(place + "/ckpt-0.safetensors");
        EXPECT_EQ(outcome.exit_code == 0, has_begun) << megabytes << " MB: " << outcome.text;
        ended += outcome.exit_code == 0 ? 1 : 0;
    }
    EXPECT_GT(ended, 0);
}
#endif

TEST(Resources, TheSummaryCountsCheckpoints) {
    const test::TemporaryFolder folder;
    const Outcome outcome = run(kTrain + "--ckpts-per-epoch 1000 --keep-ckpts 2 --logs-path " + folder / "run");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(
        outcome.text,
        ContainsRegex("\n Saving to [^\n]*\n Checkpoints: [0-9]+ of [0-9.]+ kB, of which the newest 2 are kept"));
    EXPECT_THAT(outcome.text, Not(HasSubstr("--no-logs keeps")));
    const double said = megabytes(outcome.text, "Checkpoints: [0-9]+ of ([0-9.]+) (kB)") * 1000;
    std::uintmax_t bytes = 0;
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "run")) {
        if (entry.path().extension() != ".safetensors") continue;
        bytes = entry.file_size();
        ++files;
    }
    EXPECT_EQ(files, 2);
    EXPECT_NEAR(said, static_cast<double>(bytes), 0.05 * static_cast<double>(bytes));
}

TEST(Resources, ARunWithoutLogsSaysWhereItsCheckpointsAre) {
    const std::string line = kTrain + "--no-logs ";
    const Outcome outcome = run(line);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
    std::smatch match;
    const std::regex says("--no-logs keeps checkpoints all the same, in (/tmp/[^ ]*): [0-9]+ of [0-9.]+ kB");
    ASSERT_TRUE(std::regex_search(outcome.text, match, says)) << outcome.text;
    EXPECT_TRUE(std::filesystem::exists(match[1].str() + "/ckpt-4.safetensors")) << match[1];
    EXPECT_LT(match.position(0), static_cast<std::ptrdiff_t>(outcome.text.find("iteration:"))) << "at the start";
    std::filesystem::remove_all(match[1].str());
    EXPECT_THAT(run(line + "--ckpts-per-epoch 0").text, Not(HasSubstr("--no-logs keeps")));
}

}  // namespace
}  // namespace cnntrain::cli
