// Two processes under mpirun, of which one was started with another option: both end at once and name it.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <vector>

#include "cli/shell.h"
#include "cnntrain/base/io.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::cli {
namespace {

constexpr const char* kMpirun = "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 && " CNNTRAIN_MPIEXEC
                                " --oversubscribe --bind-to none -np 2 ";

/// The more of the second process's line, and what the error calls it.
struct Disagreement {
    std::string more;
    std::string name;
};

const std::vector<Disagreement> kDisagreements = {
    {"--comm-route flat", "--comm-route (hierarchical on rank 0, flat on rank 1)"},
    {"--comm-wire bf16", "--comm-wire (f32 on rank 0, bf16 on rank 1)"},
    {"--no-comm-overlap", "--comm-overlap (true on rank 0, false on rank 1)"},
    {"--comm-timeout 30", "--comm-timeout (60 on rank 0, 30 on rank 1)"},
    {"--max-cross-replica-buffer-size 1024", "--max-cross-replica-buffer-size (10485760 on rank 0, 1024"},
    {"--rts", "--rts ("},
    {"--ckpts-per-epoch 3", "--ckpts-per-epoch (1 on rank 0, 3 on rank 1)"},
    {"--no-validation", "--validation (true on rank 0, false on rank 1)"},
    {"--keep-ckpts 2", "--keep-ckpts ("},
    {"--weight-avg-N 1", "--weight-avg-N (none on rank 0, 1 on rank 1)"},
    {"--micro-batch-size 8", "--micro-batch-size (4 on rank 0, 8 on rank 1)"},
    {"--gradient-accumulation-count 2", "--gradient-accumulation-count ("},
    {"--replicas 2", "--replicas ("},
    {"--iterations 9", "--iterations (6 on rank 0, 9 on rank 1)"},
    {"--log-freq 3", "--log-freq ("},
    {"--device-iterations 3", "--device-iterations ("},
    {"--seed 8", "--seed (7 on rank 0, 8 on rank 1)"},
    {"--precision 16.32", "--precision (32.32 on rank 0, 16.32 on rank 1)"},
    {"--stochastic-rounding OFF", "--stochastic-rounding ("},
    {"--optimiser momentum", "--optimiser (SGD on rank 0, momentum on rank 1)"},
    {"--abs-learning-rate 0.5", "--abs-learning-rate (0.01 on rank 0, 0.5 on rank 1)"},
    {"--weight-decay 0.5", "--weight-decay ("},
    {"--loss-scaling 3", "--loss-scaling ("},
    {"--label-smoothing 0.1", "--label-smoothing ("},
    {"--mixup-alpha 0.2", "--mixup-alpha ("},
    {"--model-size 14", "--model-size (8 on rank 0, 14 on rank 1)"},
    {"--group-norm", "--group-norm ("},
    {"--backend ref", "--backend (cpu on rank 0, ref on rank 1)"},
    {"--threads 2", "--threads (1 on rank 0, 2 on rank 1)"},
    {"--thread-independent", "--thread-independent ("},
    {"--enable-recomputation", "--enable-recomputation ("},
    {"--lanes 1", "--lanes ("},
    {"--no-logs", "--no-logs ("},
    {"--logs-path elsewhere", "--logs-path (run on rank 0, elsewhere on rank 1)"},
    {"--overwrite", "--overwrite ("},
    {"--accept-other-data", "--accept-other-data ("},
    {"--analyse-nans", "--analyse-nans ("},
    {"--compile-only", "--compile-only ("},
    {"--dataset-benchmark", "--dataset-benchmark ("},
    {"--init-path begun/ckpt-0", "--init-path (none on rank 0, begun/ckpt-0 on rank 1)"},
    {"--restore-path begun", "--restore-path (none on rank 0, begun on rank 1)"},
};

class Disagreements : public ::testing::Test {
protected:
    Disagreements() {
        run("dataset cifar --train 96 --test 37 --output-dir " + (folder_ / "data"));
        begun_ = shell(in_folder() + CNNTRAIN_PROGRAM + " " + line() +
                       "--logs-path begun --ckpts-per-epoch 1 --gradient-accumulation-count 2")
                     .exit_code;
    }

    std::string in_folder() const { return "cd " + folder_.path() + " && "; }
    static std::string line() {
        return "train --data-dir data --model-size 8 --micro-batch-size 4 --precision 32.32 --seed 7 --warmup-epochs 0 "
               "--abs-learning-rate 0.01 --threads 1 --input-threads 1 --comm-timeout 60 --iterations 6 --logs-path "
               "run ";
    }
    /// Rank 0 with `line()`, rank 1 in a folder of its own or with another line.
    Outcome two(const std::string& second, const std::string& where = ".") const {
        const std::string program = std::string(CNNTRAIN_PROGRAM) + " ";
        return shell(in_folder() + kMpirun + "sh -c 'if [ $OMPI_COMM_WORLD_RANK = 1 ]; then cd " + where + " && exec " +
                     program + second + "; else exec \"$@\"; fi' sh " + program + line());
    }

    test::TemporaryFolder folder_;
    int begun_ = -1;
};

TEST_F(Disagreements, EndTheRunAtOnceAndAreNamed) {
    ASSERT_EQ(begun_, 0);
    std::vector<double> seconds;
    for (const Disagreement& other : kDisagreements) {
        const auto start = std::chrono::steady_clock::now();
        const Outcome outcome = two(line() + other.more);
        seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
        EXPECT_EQ(outcome.exit_code, exit_code(ErrorKind::peers)) << other.more << "\n" << outcome.text;
        EXPECT_THAT(outcome.text, HasSubstr(other.name)) << other.more;
        EXPECT_EQ(count_of("error: ", outcome.text), 1U) << other.more << "\n" << outcome.text;
        EXPECT_FALSE(std::filesystem::exists(folder_ / "run")) << other.more;
    }
    std::ranges::sort(seconds);
    constexpr double kAtOnce = 5;  // seconds, mpirun's start and end included
    EXPECT_LT(seconds[seconds.size() / 2], kAtOnce);
    EXPECT_LT(seconds.back(), 5 * kAtOnce);
    std::cout << kDisagreements.size() << " disagreements: median " << seconds[seconds.size() / 2] << " s, slowest "
              << seconds.back() << " s\n";
}

TEST_F(Disagreements, OnCommandAndDataAreNamedToo) {
    EXPECT_THAT(two("restore --restore-path begun").text, HasSubstr("--restore-path"));
    std::filesystem::create_directories(folder_ / "elsewhere");
    std::filesystem::copy(folder_ / "data", folder_ / "elsewhere/data", std::filesystem::copy_options::recursive);
    const std::string file = folder_ / "elsewhere/data/cifar-10-batches-bin/data_batch_2.bin";
    std::filesystem::resize_file(file, std::filesystem::file_size(file) - 3073);
    const Outcome outcome = two(line(), "elsewhere");
    EXPECT_EQ(outcome.exit_code, exit_code(ErrorKind::peers)) << outcome.text;
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("96 samples"), HasSubstr("data_batch_2.bin (")));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
}

}  // namespace
}  // namespace cnntrain::cli
