#include "cnntrain/weights/average.h"

#include <gtest/gtest.h>

#include <limits>

#include "cnntrain/base/error.h"
#include "cnntrain/weights/checkpoint.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::weights {
namespace {

std::string path_of(int i) {
    return "run/ckpt-" + std::to_string(i) + ".safetensors";
}

void write(FileSystem& files, int i, float w, float v) {
    Checkpoint checkpoint;
    checkpoint.iteration = i;
    checkpoint.epoch = i / 10.0;
    checkpoint.tensors.emplace("all/w", HostTensor::of<float>({2}, {w, -w}));
    checkpoint.tensors.emplace("all/w/Momentum", HostTensor::of<float>({1}, {v}).cast(DType::bf16));
    save(files, path_of(i), checkpoint);
}

std::string refusal(FileSystem& files, const std::vector<std::string>& paths, ErrorKind kind) {
    std::string message = message_of(kind, [&] { average(files, paths, {}, "out.safetensors"); });
    EXPECT_FALSE(exists(files, "out.safetensors"));
    return message;
}

TEST(Average, MeanOfEveryVariableInItsOwnType) {
    MemoryFiles files;
    write(files, 10, 1, 3);
    write(files, 20, 2, 5);
    write(files, 30, 6, 7);
    average(files, {path_of(10), path_of(20), path_of(30)}, {}, "out.safetensors");
    const Checkpoint result = load(files, "out.safetensors");
    EXPECT_EQ(result.iteration, 30);
    EXPECT_EQ(result.epoch, 3);
    EXPECT_EQ(result.tensors.at("all/w").at(0), 3);
    EXPECT_EQ(result.tensors.at("all/w").at(1), -3);
    EXPECT_EQ(result.tensors.at("all/w/Momentum").at(0), 5);
    EXPECT_EQ(result.tensors.at("all/w/Momentum").dtype(), DType::bf16);
}

TEST(Average, SixteenBitVariablesMayBecomeF32) {
    MemoryFiles files;
    write(files, 1, 1, 1);
    write(files, 2, 2, 1.0078125F);  // the next bfloat16
    average(files, {path_of(1), path_of(2)}, {.in_f32 = true}, "out.safetensors");
    const Checkpoint result = load(files, "out.safetensors");
    EXPECT_EQ(result.tensors.at("all/w/Momentum").dtype(), DType::f32);
    EXPECT_EQ(result.tensors.at("all/w/Momentum").at(0), 1.00390625);
    EXPECT_EQ(result.tensors.at("all/w").dtype(), DType::f32);
}

TEST(Average, ExponentialBeginsWithTheFirst) {
    MemoryFiles files;
    write(files, 1, 8, 0);
    write(files, 2, 4, 0);
    write(files, 3, 2, 0);
    average(files, {path_of(1), path_of(2), path_of(3)}, {Averaging::exponential, 0.75}, "out.safetensors");
    EXPECT_EQ(load(files, "out.safetensors").tensors.at("all/w").at(0), 0.75 * (0.75 * 8 + 0.25 * 4) + 0.25 * 2);
}

TEST(Average, IsKnownByItsSourcesAndMode) {
    MemoryFiles files;
    write(files, 1, 8, 0);
    write(files, 2, 4, 0);
    const std::vector<std::string> both = {path_of(1), path_of(2)};
    EXPECT_FALSE(is_average_of(files, both, Averaging::mean, "out.safetensors"));
    average(files, both, {}, "out.safetensors");
    EXPECT_TRUE(is_average_of(files, both, Averaging::mean, "out.safetensors"));
    EXPECT_FALSE(is_average_of(files, both, Averaging::exponential, "out.safetensors"));
    EXPECT_FALSE(is_average_of(files, {path_of(2)}, Averaging::mean, "out.safetensors"));
    EXPECT_FALSE(is_average_of(files, both, Averaging::mean, path_of(1)));
    std::string damaged = read_text(files, "out.safetensors");
    damaged.back() = static_cast<char>(damaged.back() ^ 1);
    write_text(files, "out.safetensors", damaged);
    EXPECT_FALSE(is_average_of(files, both, Averaging::mean, "out.safetensors"));
}

TEST(Average, CheckpointsOfOtherModelsAreRefused) {
    MemoryFiles files;
    write(files, 1, 8, 0);
    Checkpoint other;
    other.tensors.emplace("all/w", HostTensor::of<float>({1}, {1}));
    other.tensors.emplace("all/x", HostTensor::of<float>({1}, {1}));
    save(files, path_of(2), other);
    EXPECT_THAT(refusal(files, {path_of(1), path_of(2)}, ErrorKind::data),
                AllOf(HasSubstr("f32[1]"), HasSubstr("missing: all/w/Momentum"), HasSubstr("extra:   all/x")));
    EXPECT_THAT(refusal(files, {}, ErrorKind::usage), HasSubstr("checkpoints"));
}

TEST(Average, DamageIsNoticed) {
    MemoryFiles files;
    write(files, 1, 8, 0);
    std::string bytes = read_text(files, path_of(1));
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    write_text(files, path_of(2), bytes);
    EXPECT_THAT(refusal(files, {path_of(1), path_of(2)}, ErrorKind::data), HasSubstr("checksum"));
}

TEST(Analyse, FindsNansByVariableAndIndex) {
    MemoryFiles files;
    write(files, 1, 8, 0);
    write(files, 2, std::numeric_limits<float>::quiet_NaN(), 0);
    EXPECT_TRUE(find_nans(files, path_of(1)).empty());
    const auto nans = find_nans(files, path_of(2));
    ASSERT_EQ(nans.size(), 1U);
    EXPECT_EQ(nans[0].variable, "all/w");
    EXPECT_THAT(nans[0].indices, ElementsAre(0, 1));
}

TEST(Analyse, DamageIsNoticedUnlessEditsAreTrusted) {
    MemoryFiles files;
    write(files, 1, 8, 0);
    std::string bytes = read_text(files, path_of(1));
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    write_text(files, path_of(1), bytes);
    EXPECT_THAT(message_of(ErrorKind::data, [&] { find_nans(files, path_of(1)); }), HasSubstr("checksum"));
    EXPECT_THAT(message_of(ErrorKind::data, [&] { element(files, path_of(1), "all/w", 0); }), HasSubstr("checksum"));
    EXPECT_TRUE(find_nans(files, path_of(1), Edited::trusted).empty());
    EXPECT_EQ(element(files, path_of(1), "all/w", 0, Edited::trusted), 8);
}

TEST(Analyse, ElementsAreFoundOrTheNearestNameIsTold) {
    MemoryFiles files;
    write(files, 1, 8, 0);
    EXPECT_EQ(element(files, path_of(1), "all/w", 1), -8);
    const auto refusal = [&](const std::string& name, std::int64_t index) {
        return message_of(ErrorKind::usage, [&] { element(files, path_of(1), name, index); });
    };
    EXPECT_THAT(refusal("all/v", 0), HasSubstr("'all/w'"));
    EXPECT_THAT(refusal("all/w", 2), HasSubstr("0 to 1"));
}

}  // namespace
}  // namespace cnntrain::weights
