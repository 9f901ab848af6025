#include "cnntrain/weights/checkpoint.h"

#include <gtest/gtest.h>

#include <cstring>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/weights/average.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::weights {
namespace {

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
    checkpoint.tensors["an_f16"] = HostTensor::of<float>({4}, {0.1f, -65504, 0x1p-24f, 1e6f}).cast(DType::f16);
    checkpoint.tensors["empty"] = HostTensor({DType::f16, {0, 4}});
    return checkpoint;
}

std::string file_with(const std::string& header, const std::string& data = "") {
    const std::uint64_t length = header.size();
    std::string text(sizeof length, '\0');
    std::memcpy(text.data(), &length, sizeof length);
    return text + header + data;
}

/// A file as early versions wrote them: one checksum, of the tensors.
std::string early_file() {
    const std::string data("\0\0\x80\x3f", 4);
    return file_with(R"({"__metadata__":{"iteration":"7","epoch":"0.5","data_crc32c":")" +
                         hex_text(crc32c(std::as_bytes(std::span(data)))) +
                         R"(","seed":"3"},"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}  )",
                     data);
}

/// Returns the text with `to` in the place of the first `from`.
std::string edited(std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
}

Checkpoint load_trusting(const std::string& content) {
    MemoryFiles files;
    write_text(files, kPath, content);
    return load(files, kPath, Edited::trusted);
}

std::string data_error(const std::string& content) {
    MemoryFiles files;
    write_text(files, kPath, content);
    std::string message = message_of(ErrorKind::data, [&] { load(files, kPath); });
    EXPECT_THAT(message, HasSubstr(kPath));
    return message;
}

std::string saved_text(const Checkpoint& checkpoint) {
    MemoryFiles files;
    save(files, kPath, checkpoint);
    return read_text(files, kPath);
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

/// Half precision as other programs write it: 1, -2, the largest number and the smallest one.
TEST(Checkpoint, HalfPrecisionIsRead) {
    MemoryFiles files;
    write_text(files, kPath,
               file_with(R"({"w":{"dtype":"F16","shape":[4],"data_offsets":[0,8]}})",
                         std::string("\x00\x3c\x00\xc0\xff\x7b\x01\x00", 8)));
    const HostTensor tensor = load(files, kPath).tensors.at("w");
    EXPECT_EQ(tensor.desc(), (TensorDesc{DType::f16, {4}}));
    const double expected[] = {1, -2, 65504, 0x1p-24};
    for (std::int64_t i = 0; i < 4; ++i)
        EXPECT_EQ(tensor.at(i), expected[i]);
}

TEST(Checkpoint, BoolsAreBytesAndOtherTypesAreNamed) {
    MemoryFiles files;
    write_text(files, kPath,
               file_with(R"({"w":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", std::string("\0\1", 2)));
    const HostTensor tensor = load(files, kPath).tensors.at("w");
    EXPECT_EQ(tensor.desc(), (TensorDesc{DType::u8, {2}}));
    EXPECT_EQ(tensor.at(1), 1);
    write_text(files, kPath,
               file_with(R"({"w":{"dtype":"I8","shape":[2],"data_offsets":[0,2]}})", std::string("\0\1", 2)));
    EXPECT_THAT(message_of(ErrorKind::unsupported, [&] { load(files, kPath); }),
                AllOf(HasSubstr("'w'"), HasSubstr("I8")));
}

TEST(Checkpoint, NothingButTensorsIsNeeded) {
    MemoryFiles files;
    write_text(files, kPath,
               file_with(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", std::string("\0\0\x80\x3f", 4)));
    const Checkpoint loaded = load(files, kPath);
    EXPECT_EQ(loaded.iteration, -1);
    EXPECT_EQ(loaded.tensors.at("w").at(0), 1);
}

TEST(Checkpoint, DataIsAlignedAndWithoutGaps) {
    const std::string text = saved_text(example());
    std::uint64_t length = 0;
    std::memcpy(&length, text.data(), sizeof length);
    EXPECT_EQ((8 + length) % 64, 0u);
    EXPECT_EQ(text.size(), 8 + length + 24 + 24 + 6 + 8 + 8 + 5);
}

TEST(Checkpoint, EveryCutIsNoticed) {
    const std::string text = saved_text(example());
    for (std::size_t size = 0; size < text.size(); size += size < 16 ? 1 : 23)
        data_error(text.substr(0, size));
    EXPECT_THAT(data_error(text.substr(0, text.size() - 1)), Not(IsEmpty()));
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

TEST(Checkpoint, EveryFlippedHeaderBitIsNoticed) {
    const std::string text = saved_text(example());
    const std::size_t end = text.size() - 67;
    for (std::size_t at = 0; at < end; ++at) {
        for (int bit = 0; bit < 8; ++bit) {
            std::string damaged = text;
            damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
            EXPECT_NE(data_error(damaged), "") << "bit " << bit << " of byte " << at;
        }
    }
}

TEST(Checkpoint, FilesOfEarlyVersionsAreLoaded) {
    MemoryFiles files;
    write_text(files, kPath, early_file());
    const Checkpoint loaded = load(files, kPath);
    EXPECT_EQ(loaded.iteration, 7);
    EXPECT_EQ(loaded.epoch, 0.5);
    EXPECT_EQ(loaded.metadata, (std::map<std::string, std::string>{{"seed", "3"}}));
    EXPECT_EQ(loaded.tensors.at("w").at(0), 1);
    std::string damaged = early_file();
    damaged.back() = '\0';
    EXPECT_THAT(data_error(damaged), Not(IsEmpty()));
    EXPECT_EQ(load_trusting(damaged).tensors.at("w").dtype(), DType::f32);
}

TEST(Checkpoint, AnEditedOneIsUsedOnRequestOnly) {
    const std::string text = saved_text(example());
    const std::string header_edited = edited(text, R"("iteration":"7")", R"("iteration":"6")");
    EXPECT_THAT(data_error(header_edited), HasSubstr("--trust-edited-checkpoint"));
    EXPECT_EQ(load_trusting(header_edited).iteration, 6);
    EXPECT_EQ(load_trusting(header_edited).metadata, example().metadata);

    std::string tensor_edited = text;
    tensor_edited.back() = 9;
    EXPECT_THAT(data_error(tensor_edited), HasSubstr("--trust-edited-checkpoint"));
    EXPECT_EQ(load_trusting(tensor_edited).tensors.at("odd").at(4), 9);

    // The same header as another library may write it, with one more blank.
    const std::string moved =
        edited(text, R"("__metadata__":{"header_crc32c":)", R"("__metadata__":{ "header_crc32c":)");
    std::uint64_t length = 0;
    std::memcpy(&length, moved.data(), sizeof length);
    const std::string rewritten = file_with(moved.substr(8, length + 1), moved.substr(8 + length + 1));
    EXPECT_THAT(data_error(rewritten), HasSubstr("--trust-edited-checkpoint"));
    EXPECT_EQ(load_trusting(rewritten).iteration, 7);
}

TEST(Checkpoint, AnEditedOneIsLookedAtWithoutAWarning) {
    MemoryFiles files;
    write_text(files, kPath, edited(saved_text(example()), R"("iteration":"7")", R"("iteration":"6")"));
    testing::internal::CaptureStderr();
    EXPECT_EQ(weights_header(files, kPath).metadata, example().metadata);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_THROW(load_weights(files, kPath), Error);
}

TEST(Checkpoint, TrustGoesToChecksumsOnly) {
    const std::string text = saved_text(example());
    for (const std::string& damaged :
         {text.substr(0, text.size() - 1), edited(text, "\"odd\"", "\"odd\\"), edited(text, "[2,3]", "[2,4]"),
          edited(text, R"("iteration":"7")", R"("iteration":"x")")}) {
        EXPECT_THROW(load_trusting(damaged), Error);
    }
}

TEST(Checkpoint, ImpossibleNumbersAreRefused) {
    const auto of = [](const std::string& metadata) {
        return data_error(file_with(R"({"__metadata__":{)" + metadata + "}}"));
    };
    for (const char* iteration : {"-5", "1000000000000001", "9223372036854775807", "9223372036854775808"})
        EXPECT_THAT(of(R"("iteration":")" + std::string(iteration) + '"'), HasSubstr("iteration")) << iteration;
    for (const char* epoch : {"nan", "inf", "-1", "1e300"})
        EXPECT_THAT(of(R"("epoch":")" + std::string(epoch) + '"'), HasSubstr("epoch")) << epoch;
}

TEST(Checkpoint, KeysStandOnceAndDepthHasALimit) {
    const std::string tensor = R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
    EXPECT_THAT(data_error(file_with("{" + tensor + "," + tensor + "}", "1234")), HasSubstr("'w'"));
    EXPECT_THAT(data_error(file_with(R"({"__metadata__":{"epoch":"1","epoch":"2"}})")), HasSubstr("'epoch'"));
    const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
    EXPECT_THAT(data_error(file_with(R"({"w":{"dtype":)" + deep + R"(,"shape":[1],"data_offsets":[0,4]}})", "1234")),
                HasSubstr("64 deep"));
}

TEST(Checkpoint, WithoutIterationItSaysNone) {
    Checkpoint checkpoint = example();
    checkpoint.iteration = -1;
    EXPECT_THAT(saved_text(checkpoint), Not(HasSubstr("iteration")));
}

/// A file that claims more memory than any machine has.
class EndlessFile : public InputFile {
public:
    explicit EndlessFile(const std::string& header) : header_(file_with(header)) {}
    const std::string& path() const override { return path_; }
    std::uint64_t size_bytes() const override { return header_.size() + (std::uint64_t{1} << 58); }
    std::int64_t modified_ns() const override { return 0; }
    void read_at(std::uint64_t offset, std::span<std::byte> out) const override {
        ASSERT_LE(offset + out.size(), header_.size());
        std::memcpy(out.data(), header_.data() + offset, out.size());
    }
    void will_need(std::uint64_t /*offset*/, std::uint64_t /*count*/) const noexcept override {}

private:
    std::string path_ = kPath;
    std::string header_;
};

class EndlessFiles : public MemoryFiles {
public:
    std::unique_ptr<InputFile> open(const std::string& /*path*/) const override {
        return std::make_unique<EndlessFile>(
            R"({"w":{"dtype":"U8","shape":[288230376151711744],"data_offsets":[0,288230376151711744]}})");
    }
};

TEST(Checkpoint, TensorsBeyondTheMachinesMemoryAreUnsupported) {
    const EndlessFiles files;
    EXPECT_THAT(message_of(ErrorKind::unsupported, [&] { load(files, kPath); }),
                AllOf(HasSubstr(kPath), HasSubstr("288.2")));
    EXPECT_THAT(message_of(ErrorKind::unsupported, [&] { find_nans(files, kPath); }), HasSubstr("'w'"));
}

TEST(Checkpoint, BadHeadersAreNamed) {
    const std::string four(4, '\0');
    EXPECT_THAT(data_error("PK\x03\x04 this is some archive, not a checkpoint"), HasSubstr("directory"));
    EXPECT_THAT(data_error("PNG some picture, not a checkpoint"), HasSubstr("begin"));
    EXPECT_THAT(data_error(file_with("{\"w\": ")), HasSubstr("JSON"));
    EXPECT_THAT(data_error(file_with("[1]")), HasSubstr("object"));
    EXPECT_THAT(data_error(file_with(R"({"w":1})")), HasSubstr("data_offsets"));
    EXPECT_THAT(data_error(file_with(R"({"w":{"dtype":"F8","shape":[1],"data_offsets":[0,4]}})", four)),
                HasSubstr("\"F8\""));
    EXPECT_THAT(data_error(file_with(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", four)),
                HasSubstr("f32[2]"));
    EXPECT_THAT(data_error(file_with(R"({"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", four)),
                HasSubstr("-1"));
    EXPECT_THAT(data_error(file_with(R"({"w":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})")),
                HasSubstr("impossible"));
    EXPECT_THAT(data_error(file_with(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", four)),
                HasSubstr("[4,0]"));
    EXPECT_THAT(data_error(file_with(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,"4"]}})", four)),
                HasSubstr("bad data_offsets"));
    EXPECT_THAT(data_error(file_with(R"({"__metadata__":{"iteration":"x"}})")), HasSubstr("'iteration'"));
    EXPECT_THAT(data_error(file_with(R"({"__metadata__":{"a":1}})")), HasSubstr("'a'"));
    EXPECT_THAT(data_error(file_with(R"({"__metadata__":[]})")), HasSubstr("object"));
}

TEST(Checkpoint, OverlapsAndGapsAreNamed) {
    const auto two = [](const std::string& second) {
        return file_with(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                         R"("b":{"dtype":"U8","shape":[4],"data_offsets":)" +
                             second + "}}",
                         std::string(10, 'x'));
    };
    EXPECT_THAT(data_error(two("[2,6]")), HasSubstr("'b' overlaps"));
    EXPECT_THAT(data_error(two("[6,10]")), HasSubstr("'b'"));
    EXPECT_THAT(data_error(two("[4,8]")), HasSubstr("2 bytes follow"));
}

TEST(Checkpoint, NoSpaceKeepsThePreviousOne) {
    MemoryFiles files;
    Checkpoint checkpoint = example();
    save(files, kPath, checkpoint);
    files.set_capacity_bytes(files.used_bytes() + 300);
    checkpoint.epoch = 2;
    EXPECT_THAT(message_of(ErrorKind::storage, [&] { save(files, kPath, checkpoint); }),
                AllOf(HasSubstr(kPath), HasSubstr("untouched")));
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

TEST(Match, RefusesIntegersWhereTheModelHasFloats) {
    std::map<std::string, TensorDesc> expected;
    for (const auto& [name, tensor] : example().tensors)
        expected[name] = tensor.desc();
    Checkpoint integers = example();
    integers.tensors.at("conv/weight") = HostTensor(TensorDesc{DType::i32, {2, 3}});
    EXPECT_THAT(message_of(ErrorKind::data, [&] { match(expected, integers, kPath); }), HasSubstr("conv/weight"));
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
    EXPECT_THAT(message_of(ErrorKind::data, [&] { match(expected, example(), kPath); }),
                AllOf(HasSubstr(kPath), HasSubstr("missing: dense/bias [10]"),
                      HasSubstr("missing: dense/weight [64, 10]"), HasSubstr("[5]"), HasSubstr("[0, 4]"),
                      HasSubstr("conv/weight"), HasSubstr("[1]"), Not(HasSubstr("a_half"))));
}

TEST(Save, TensorsFromElsewhereMakeTheSameFile) {
    MemoryFiles files;
    const Checkpoint whole = example();
    save(files, kPath, whole);
    Checkpoint head = whole;
    head.tensors.clear();
    TensorSource source = source_of(whole.tensors);
    int asked = 0;
    source.tensor = [&](const std::string& name) {
        ++asked;
        return whole.tensors.at(name);
    };
    save(files, "other.safetensors", head, source);
    EXPECT_EQ(read_text(files, kPath), read_text(files, "other.safetensors"));
    EXPECT_EQ(asked, 2 * static_cast<int>(whole.tensors.size()));
}

TEST(Match, TellsTheFirstOfManyDifferences) {
    std::map<std::string, TensorDesc> expected;
    for (const auto& [name, tensor] : example().tensors)
        expected[name] = tensor.desc();
    for (int i = 10; i < 60; ++i)
        expected["layer/" + std::to_string(i)] = {DType::f32, {10}};
    EXPECT_THAT(message_of(ErrorKind::data, [&] { match(expected, example(), kPath); }),
                AllOf(HasSubstr("layer/49"), Not(HasSubstr("layer/50"))));
}

}  // namespace
}  // namespace cnntrain::weights
