// Recomputation of everything (--enable-recomputation) and of norms (--recompute-norms) in whole training runs: the
// same numbers in less memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cnntrain/backend/backends.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/loader.h"
#include "train/fixtures.h"
#include "train/staged.h"

namespace cnntrain::run::testing {
namespace {

struct Case {
    std::string options;
    std::int64_t iterations = 40;
};

class Recomputation : public ::testing::TestWithParam<Case> {};

TEST_P(Recomputation, ChangesNoLossNoWeightAndNoMovingAverage) {
    MemoryFiles keeping;
    MemoryFiles recomputing;
    ASSERT_EQ(train(keeping, GetParam().options).exit_code, 0);
    ASSERT_EQ(train(recomputing, GetParam().options + " --enable-recomputation").exit_code, 0);
    EXPECT_EQ(loss_rows(keeping), loss_rows(recomputing));
    EXPECT_EQ(weights(keeping, GetParam().iterations), weights(recomputing, GetParam().iterations));
}

const std::string kFp32 = "--no-validation --precision 32.32 ";
const std::string kThreeSteps = kFp32 + "--iterations 3 --epochs 0 --log-freq 1 --optimiser momentum ";

INSTANTIATE_TEST_SUITE_P(
    All, Recomputation,
    ::testing::Values(
        Case{kFp32}, Case{"--no-validation --precision 16.32"}, Case{"--no-validation --precision 16.16"},
        Case{kFp32 + "--group-norm"}, Case{kFp32 + "--gradient-accumulation-count 2 --micro-batch-size 4"},
        Case{kFp32 + "--mixup-alpha 0.4 --cutmix-lambda 0.6"},
        Case{kThreeSteps + "--model efficientnet --model-size cifar --proxy-norm --batch-norm", 3},
        Case{kThreeSteps + "--model resnext --model-size 14 --dataset imagenet --generated-data --image-size 64 "
                           "--micro-batch-size 2 --batch-norm",
             3},
        Case{kThreeSteps + "--model efficientnet --model-size cifar --block-survival-prob 0.5 --dropout-rate 0.3", 3},
        Case{kThreeSteps + "--model efficientnet --model-size cifar --batch-norm --gradient-accumulation-count 2", 3},
        Case{kThreeSteps + "--model efficientnet --model-size cifar --group-norm", 3}));

class NormRecomputation : public ::testing::TestWithParam<std::string> {};

TEST_P(NormRecomputation, ChangesNoNumberAndTakesLessMemory) {
    const Trained keeping = trained(GetParam());
    const Trained recomputing = trained(GetParam() + " --recompute-norms");
    EXPECT_GT(recomputing.recomputed, keeping.recomputed);
    expect_same_numbers(recomputing, keeping);
    EXPECT_LT(recomputing.arena_bytes, keeping.arena_bytes);
    EXPECT_LT(recomputing.stash_bytes.front(), keeping.stash_bytes.front());
}

const std::string kPhotos = "--dataset imagenet --image-size 64 --micro-batch-size 2 ";

INSTANTIATE_TEST_SUITE_P(
    All, NormRecomputation,
    ::testing::Values("--dataset cifar-10 --model-size 20 --micro-batch-size 4 --batch-norm --precision 32.32",
                      "--dataset cifar-10 --model-size 20 --micro-batch-size 4 --group-norm --precision 16.16",
                      kPhotos + "--model-size 50 --batch-norm --precision 16.32",
                      kPhotos + "--model-size 50 --group-norm --precision 32.32 --thread-independent --threads 2",
                      kPhotos + "--model-size 18 --batch-norm --gradient-accumulation-count 2 --replicas 2 --lanes 2 "
                                "--threads 2 --BN-span 2",
                      kPhotos + "--model resnext --model-size 14 --batch-norm --precision 32.32",
                      kPhotos + "--model efficientnet --model-size B0 --group-norm --precision 16.32"));

TEST(NormRecomputationMemory, OfResnet50IsLess) {
    for (const std::string precision : {"--precision 32.32", "--precision 16.32"}) {
        const std::string line = "--dataset imagenet --model-size 50 --micro-batch-size 4 --batch-norm " + precision;
        const auto keeping = static_cast<double>(trained(line, 0).arena_bytes);
        EXPECT_LT(static_cast<double>(trained(line + " --recompute-norms", 0).arena_bytes), 0.85 * keeping);
    }
}

TEST(RecomputationMemory, IsLess) {
    const auto arena = [](const std::string& options) {
        const options::Settings settings =
            parse("--generated-data --threads 1 --micro-batch-size 8 --precision 32.32 " + options).settings;
        const std::int64_t side = tasks::image_settings(settings).data.image_size;
        const std::vector<data::Field> fields =
            data::batch_fields(data::image_fields({DType::f32, {side, side, 3}}), {.micro_batch = 8});
        const auto cpu = backend::make_cpu_backend();
        const graph::Graph graph = training_graph(settings, *cpu, data::field_desc(fields, data::kImages));
        return static_cast<double>(cpu->compile({&graph, fields, {}, {.threads = 1}})->report().arena_bytes);
    };
    const auto share = [&](const std::string& model) {
        return arena(model + " --enable-recomputation") / arena(model);
    };
    EXPECT_LT(share("--dataset cifar-10 --model-size 32"), 0.5);
    EXPECT_LT(share("--dataset imagenet --image-size 64 --model resnext --model-size 14"), 0.9);
    EXPECT_LT(share("--dataset cifar-10 --model efficientnet --model-size cifar"), 0.7);
}

}  // namespace
}  // namespace cnntrain::run::testing
