// Checkpoints that are written for TensorFlow. `tools/compare.py exports` loads some with TensorFlow.
#include "cnntrain/weights/foreign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "support/errors.h"

namespace cnntrain::weights {
namespace {

using test::message_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::map<std::string, HostTensor> some_tensors() {
    std::map<std::string, HostTensor> tensors = {
        {"all/fc1/bias", HostTensor::of<float>({3}, {1, -0.0F, std::numeric_limits<float>::quiet_NaN()})},
        {"lamb_step_counter", HostTensor::of<std::int32_t>({}, {7})},
        {"empty", HostTensor({DType::f32, {0, 4}})},
        {"long", HostTensor::of<std::int64_t>({1}, {std::int64_t{1} << 60})},
        {"bytes", HostTensor::of<std::uint8_t>({2}, {0, 255})},
        {"double", HostTensor::of<double>({1}, {0.1})}};
    for (int i = 0; i < 300; ++i) {  // several blocks
        HostTensor tensor({i % 2 == 0 ? DType::bf16 : DType::f16, {2, 3}});
        for (std::int64_t k = 0; k < 6; ++k)
            tensor.set(k, i + static_cast<double>(k) / 8);
        tensors.emplace("bert/encoder/layer_" + std::to_string(i) + "/attention/self/kernel", std::move(tensor));
    }
    return tensors;
}

TEST(TensorFlowWriter, WhatIsWrittenComesBackBitByBit) {
    const std::map<std::string, HostTensor> tensors = some_tensors();
    MemoryFiles files;
    save_tensorflow(files, "run/ckpt-100", source_of(tensors));
    EXPECT_THAT(files.list("run"), ElementsAre("checkpoint", "ckpt-100.data-00000-of-00001", "ckpt-100.index"));
    EXPECT_EQ(read_text(files, "run/checkpoint"),
              "model_checkpoint_path: \"ckpt-100\"\nall_model_checkpoint_paths: \"ckpt-100\"\n");
    const ForeignFile file = open_foreign(files, "run/ckpt-100.index");
    EXPECT_THAT(file.left_out, IsEmpty());
    ASSERT_EQ(file.tensors.descs.size(), tensors.size());
    for (const auto& [name, tensor] : tensors) {
        EXPECT_EQ(file.tensors.descs.at(name), tensor.desc()) << name;
        EXPECT_TRUE(std::ranges::equal(file.tensors.tensor(name).bytes(), tensor.bytes())) << name;
    }
}

/// The file that TensorFlow made, written again: the same entries in the index, and the same numbers.
TEST(TensorFlowWriter, AFileOfTensorFlowIsWrittenAsItWas) {
    const ForeignFile original =
        open_foreign(posix_files(), CNNTRAIN_SOURCE_DIR "/tests/golden/foreign/v1.ckpt-7.index");
    MemoryFiles files;
    save_tensorflow(files, "p", original.tensors);
    const ForeignFile copy = open_foreign(files, "p.index");
    ASSERT_EQ(copy.tensors.descs, original.tensors.descs);
    for (const auto& [name, desc] : copy.tensors.descs)
        EXPECT_TRUE(std::ranges::equal(copy.tensors.tensor(name).bytes(), original.tensors.tensor(name).bytes()));
}

TEST(TensorFlowWriter, AFullDiskLeavesWhatWasThere) {
    const std::map<std::string, HostTensor> tensors = some_tensors();
    MemoryFiles files;
    save_tensorflow(files, "p", source_of(tensors));
    const std::string before = read_text(files, "p.index");
    files.set_capacity_bytes(files.used_bytes() + 100);
    EXPECT_THAT(message_of(ErrorKind::storage, [&] { save_tensorflow(files, "p", source_of(tensors)); }),
                HasSubstr("p.data-00000-of-00001"));
    EXPECT_EQ(read_text(files, "p.index"), before);
    EXPECT_NO_THROW(load(files, "p.index"));
}

TEST(TensorFlowWriter, NamesAreQuoted) {
    const std::map<std::string, HostTensor> none;
    MemoryFiles files;
    save_tensorflow(files, "a\"b\\\n\xc3\xa9", source_of(none));
    EXPECT_THAT(read_text(files, "checkpoint"), HasSubstr("134"));
}

}  // namespace
}  // namespace cnntrain::weights
