// Mixup and cutmix in whole training runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cnntrain/backend/backends.h"
#include "cnntrain/base/error.h"
#include "support/errors.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

constexpr std::int64_t kLast = 40;

struct Result {
    std::vector<std::string> losses;
    std::vector<std::string> accuracies;
    std::string weights;
    bool operator==(const Result&) const = default;
};

Result run(const std::string& options) {
    MemoryFiles files;
    EXPECT_EQ(train(files, options).exit_code, 0) << options;
    return {loss_rows(files), accuracy_rows(files), weights(files, kLast)};
}

TEST(Mixing, ChangesTheTrainingAndNothingElseDecidesHow) {
    const std::string mixup = "--mixup-alpha 0.4 ";
    const std::string cutmix = "--cutmix-lambda 0.6 --cutmix-version 2 ";
    const Result plain = run("");
    const Result mixed = run(mixup + cutmix);
    EXPECT_NE(mixed.losses, plain.losses);
    EXPECT_NE(mixed.losses, run(mixup).losses);
    EXPECT_NE(mixed.losses, run(cutmix).losses);
    EXPECT_EQ(mixed, run(mixup + cutmix + "--input-threads 3 --prefetch-depth 1"));
}

TEST(Mixing, OfOneSampleIsRefused) {
    MemoryFiles files;
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { train(files, "--mixup-alpha 0.4 --micro-batch-size 1"); }),
                HasSubstr("--micro-batch-size"));
}

TEST(Mixing, TheGraphFollowsTheOptions) {
    const TensorDesc images{DType::bf16, {4, 32, 32, 3}};
    const auto cpu = backend::make_cpu_backend();
    const auto text = [&](const std::string& options) {
        const auto parsed = parse("--data-dir " + small_cifar() + " --dataset cifar-10 --model-size 8 " +
                                  "--micro-batch-size 4 " + options);
        return std::pair(training_graph(parsed.settings, *cpu, images).to_text(),
                         evaluation_graph(parsed.settings, *cpu, images).to_text());
    };
    const std::string both = "--mixup-alpha 0.4 --cutmix-lambda 0.6 ";
    const auto [device, evaluation] = text(both);
    EXPECT_THAT(device, ::testing::HasSubstr("mix_images("));
    EXPECT_THAT(device, ::testing::HasSubstr("mixed_cross_entropy("));
    EXPECT_THAT(evaluation, ::testing::Not(::testing::HasSubstr("mix")));
    const auto host = text(both + "--hostside-image-mixing").first;
    EXPECT_THAT(host, ::testing::Not(::testing::HasSubstr("mix_images(")));
    EXPECT_THAT(host, ::testing::HasSubstr("mixed_cross_entropy("));
    EXPECT_THAT(text(both + "--generated-data").first, ::testing::Not(::testing::HasSubstr("mixed")));
}

}  // namespace
}  // namespace cnntrain::run::testing
