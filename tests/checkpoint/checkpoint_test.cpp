#include "cnntrain/checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "cnntrain/base/error.h"

namespace cnntrain::checkpoint {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kPath = "/run/ckpt-7.safetensors";

Checkpoint example() {
    Checkpoint checkpoint;
    checkpoint.iteration = 7;
    checkpoint.epoch = 1.0 / 3;
    checkpoint.metadata["meters"] = "text with \"quotes\" and \n lines";
    checkpoint.tensors["conv/weight"] = HostTensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
    checkpoint.tensors["conv/weight/Momentum"] = HostTensor::of<float>({2, 3}, {-1, 0, 0, 0, 0, 1});
    checkpoint.tensors["a_half"] = HostTensor::of<float>({3}, {0.5f, -2, 1e6f}).cast(DType::bf16);
    checkpoint.tensors["count"] = HostTensor::of<std::int64_t>({}, {1LL << 40});
    checkpoint.tensors["odd"] = HostTensor::of<std::uint8_t>({5}, {1, 2, 3, 4, 5});
    checkpoint.tensors["empty"] = HostTensor({DType::f16, {0, 4}});
    return checkpoint;
}

std::string file_with(const std::string& header, const std::string& data = "") {
    const std::uint64_t length = header.size();
    std::string text(sizeof length, '\0');
    std::memcpy(text.data(), &length, sizeof length);
    return text + header + data;
}

std::string data_error(const std::string& content) {
    MemoryFiles files;
    files.write_text(kPath, content);
    try {
        load(files, kPath);
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::data);
        EXPECT_THAT(error.what(), HasSubstr(kPath));
        return error.what();
    }
    ADD_FAILURE() << "no error";
    return "";
}

std::string saved_text(const Checkpoint& checkpoint) {
    MemoryFiles files;
    save(files, kPath, checkpoint);
    return files.read_text(kPath);
}

TEST(Checkpoint, WhatIsSavedIsLoaded) {
    MemoryFiles files;
    const Checkpoint saved = example();
    save(files, kPath, saved);
    const Checkpoint loaded = load(files, kPath);
    EXPECT_EQ(loaded.iteration, saved.iteration);
    EXPECT_EQ(loaded.epoch, saved.epoch);
    EXPECT_EQ(loaded.metadata, saved.metadata);
    ASSERT_EQ(loaded.tensors.size(), saved.tensors.size());
    for (const auto& [name, tensor] : saved.tensors) {
        const HostTensor& other = loaded.tensors.at(name);
        EXPECT_EQ(other.desc(), tensor.desc()) << name;
        EXPECT_TRUE(std::ranges::equal(other.bytes(), tensor.bytes())) << name;
    }
}

TEST(Checkpoint, NothingButTensorsIsNeeded) {
    MemoryFiles files;
    files.write_text(
        kPath, file_with(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", std::string("\0\0\x80\x3f", 4)));
    const Checkpoint loaded = load(files, kPath);
    EXPECT_EQ(loaded.iteration, -1);
    EXPECT_EQ(loaded.tensors.at("w").at(0), 1);
}

TEST(Checkpoint, DataIsAlignedAndWithoutGaps) {
    const std::string text = saved_text(example());
    std::uint64_t length = 0;
    std::memcpy(&length, text.data(), sizeof length);
    EXPECT_EQ((8 + length) % 64, 0u);
    EXPECT_EQ(text.size(), 8 + length + 24 + 24 + 6 + 8 + 5);
}

TEST(Checkpoint, EveryCutIsNoticed) {
    const std::string text = saved_text(example());
    for (std::size_t size = 0; size < text.size(); size += size < 16 ? 1 : 23)
        data_error(text.substr(0, size));
    EXPECT_THAT(data_error(text.substr(0, text.size() - 1)), HasSubstr("cut short"));
    EXPECT_THAT(data_error(text + "x"), HasSubstr("1 bytes follow"));
}

TEST(Checkpoint, EveryFlippedDataBitIsNoticed) {
    const std::string text = saved_text(example());
    for (std::size_t at = text.size() - 67; at < text.size(); ++at) {
        std::string damaged = text;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
        EXPECT_THAT(data_error(damaged), HasSubstr("checksum"));
    }
}

TEST(Checkpoint, BadHeadersAreNamed) {
    const std::string four(4, '\0');
    EXPECT_THAT(data_error("PK\x03\x04 this is some archive, not a checkpoint"), HasSubstr("does not begin like"));
    EXPECT_THAT(data_error(file_with("{\"w\": ")), HasSubstr("not valid JSON"));
    EXPECT_THAT(data_error(file_with("[1]")), HasSubstr("not valid JSON"));
    EXPECT_THAT(data_error(file_with(R"({"w":1})")), HasSubstr("'w' has no data_offsets"));
    EXPECT_THAT(data_error(file_with(R"({"w":{"dtype":"F8","shape":[1],"data_offsets":[0,4]}})", four)),
                HasSubstr("element type \"F8\""));
    EXPECT_THAT(data_error(file_with(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", four)),
                HasSubstr("f32[2], but its offsets are [0,4]"));
    EXPECT_THAT(data_error(file_with(R"({"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", four)),
                HasSubstr("impossible shape [-1]"));
    EXPECT_THAT(data_error(file_with(R"({"w":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})")),
                HasSubstr("impossible shape"));
    EXPECT_THAT(data_error(file_with(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", four)),
                HasSubstr("offsets are [4,0]"));
    EXPECT_THAT(data_error(file_with(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,"4"]}})", four)),
                HasSubstr("bad data_offsets"));
    EXPECT_THAT(data_error(file_with(R"({"__metadata__":{"iteration":"x"}})")),
                HasSubstr("'iteration' is not a number"));
    EXPECT_THAT(data_error(file_with(R"({"__metadata__":{"a":1}})")), HasSubstr("'a' is not a text"));
    EXPECT_THAT(data_error(file_with(R"({"__metadata__":[]})")), HasSubstr("not an object"));
}

TEST(Checkpoint, OverlapsAndGapsAreNamed) {
    const auto two = [](const std::string& second) {
        return file_with(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                         R"("b":{"dtype":"U8","shape":[4],"data_offsets":)" +
                             second + "}}",
                         std::string(10, 'x'));
    };
    EXPECT_THAT(data_error(two("[2,6]")), HasSubstr("'b' overlaps"));
    EXPECT_THAT(data_error(two("[6,10]")), HasSubstr("gap before tensor 'b'"));
    EXPECT_THAT(data_error(two("[4,8]")), HasSubstr("2 bytes follow"));
}

TEST(Checkpoint, NoSpaceKeepsThePreviousOne) {
    MemoryFiles files;
    Checkpoint checkpoint = example();
    save(files, kPath, checkpoint);
    files.set_capacity_bytes(files.used_bytes() + 300);
    checkpoint.epoch = 2;
    try {
        save(files, kPath, checkpoint);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::storage);
        EXPECT_THAT(error.what(), AllOf(HasSubstr(kPath), HasSubstr("No space left"), HasSubstr("untouched")));
    }
    EXPECT_EQ(load(files, kPath).epoch, 1.0 / 3);
    EXPECT_EQ(files.list("/run").size(), 1u);
}

TEST(Checkpoint, ReservedMetadataIsADefect) {
    MemoryFiles files;
    Checkpoint checkpoint = example();
    checkpoint.metadata["epoch"] = "3";
    EXPECT_THROW(save(files, kPath, checkpoint), Error);
}

TEST(Match, AcceptsOtherElementTypes) {
    std::map<std::string, TensorDesc> expected;
    for (const auto& [name, tensor] : example().tensors)
        expected[name] = tensor.desc();
    expected["conv/weight"].dtype = DType::bf16;
    EXPECT_NO_THROW(match(expected, example(), kPath));
}

TEST(Match, ListsAllDifferencesAtOnce) {
    std::map<std::string, TensorDesc> expected;
    for (const auto& [name, tensor] : example().tensors)
        expected[name] = tensor.desc();
    expected["conv/weight"].shape = {3, 2};
    expected["count"].shape = {1};
    expected.erase("odd");
    expected.erase("empty");
    expected["dense/bias"] = {DType::f32, {10}};
    expected["dense/weight"] = {DType::f32, {64, 10}};
    try {
        match(expected, example(), kPath);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::data);
        EXPECT_THAT(
            error.what(),
            AllOf(HasSubstr(kPath), HasSubstr("missing: dense/bias [10]"), HasSubstr("missing: dense/weight [64, 10]"),
                  HasSubstr("extra:   odd [5]"), HasSubstr("extra:   empty [0, 4]"),
                  HasSubstr("differs: conv/weight is [2, 3], the model needs [3, 2]"),
                  HasSubstr("differs: count is [], the model needs [1]"), Not(HasSubstr("a_half"))));
    }
}

}  // namespace
}  // namespace cnntrain::checkpoint
