// Weight averages after training.
#include <gtest/gtest.h>

#include "cnntrain/base/error.h"
#include "cnntrain/weights/checkpoint.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

double element(const FileSystem& files, const std::string& file) {
    return weights::load(files, "run/" + file + ".safetensors").tensors.at("all/fc1/bias").at(3);
}

TEST(Averaging, WritesAndValidatesTheAverages) {
    MemoryFiles files;
    train(files, "--weight-avg-N 0 1 --weight-avg-exp 0.5 --precision 32.32");
    EXPECT_EQ(element(files, "ckpt/weight_avg_N_0"), element(files, "ckpt-40"));
    const double mean = (element(files, "ckpt-20") + element(files, "ckpt-40")) / 2;
    EXPECT_NEAR(element(files, "ckpt/weight_avg_N_1"), mean, 1e-7);
    EXPECT_NEAR(element(files, "ckpt/weight_avg_exp_0.5"), mean, 1e-7);
    const auto rows = accuracy_rows(files);
    ASSERT_EQ(rows.size(), 6U);
    EXPECT_THAT(rows[3], HasSubstr("weight_avg_N_0,40,2,"));
    EXPECT_THAT(rows[5], HasSubstr("weight_avg_exp_0.5,40,2,"));
}

TEST(Averaging, AStoppedRunAveragesTheSameCheckpoints) {
    MemoryFiles whole;
    train(whole, "--weight-avg-exp 0.5 --no-validation");
    MemoryFiles stopped;
    train(stopped, "--weight-avg-exp 0.5 --no-validation", stop_after(30));
    restore(stopped);
    EXPECT_EQ(element(whole, "ckpt/weight_avg_exp_0.5"), element(stopped, "ckpt/weight_avg_exp_0.5"));
}

TEST(Averaging, NeedsItsCheckpoints) {
    const auto expect_refused = [](const std::string& options, const std::string& reason) {
        EXPECT_THAT(
            message_of(
                ErrorKind::usage,
                [&] { parse("--data-dir " + small_cifar() + " --dataset cifar-10 --weight-avg-N 2 " + options); }),
            HasSubstr(reason))
            << "expected an error for " << options;
    };
    expect_refused("--keep-ckpts 1", "--keep-ckpts");
    expect_refused("--ckpts-per-epoch 0", "--ckpts-per-epoch 0");
}

}  // namespace
}  // namespace cnntrain::run::testing
