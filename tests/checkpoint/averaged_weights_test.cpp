#include "cnntrain/weights/average.h"

#include <gtest/gtest.h>

#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::weights {
namespace {

HostTensor numbers(float first, float second) {
    return HostTensor::of<float>({2}, {first, second});
}

Checkpoint with_averages() {
    Checkpoint checkpoint;
    checkpoint.tensors["fc/weight"] = numbers(1, 2);
    checkpoint.tensors["fc/weight/Momentum"] = numbers(5, 6);
    checkpoint.tensors["fc/weight/ema"] = numbers(0.5, 1.5);
    checkpoint.tensors["stage/ema"] = numbers(7, 8);  // a variable of that name: there is no variable "stage"
    return checkpoint;
}

TEST(AveragedWeights, AreTakenOutOfACheckpoint) {
    Checkpoint checkpoint = with_averages();
    const auto averages = take_averages(checkpoint);
    ASSERT_EQ(averages.size(), 1U);
    EXPECT_EQ(averages.at("fc/weight").at(1), 1.5);
    EXPECT_EQ(checkpoint.tensors.size(), 3U);
    EXPECT_TRUE(checkpoint.tensors.contains("stage/ema"));
    EXPECT_TRUE(take_averages(checkpoint).empty());
}

TEST(AveragedWeights, ReplaceTheWeights) {
    Checkpoint checkpoint = with_averages();
    use_averages(checkpoint, "ckpt-3");
    ASSERT_EQ(checkpoint.tensors.size(), 1U);
    EXPECT_EQ(checkpoint.tensors.at("fc/weight").at(0), 0.5);
    EXPECT_THAT(test::message_of(ErrorKind::usage, [&] { use_averages(checkpoint, "ckpt-3"); }), HasSubstr("ckpt-3"));
}

}  // namespace
}  // namespace cnntrain::weights
