#include "data/example.h"

#include <cstring>

#include "data/example_writer.h"
#include "data/features.h"
#include "fixtures.h"

namespace cnntrain::data {
namespace {

using testing::HasSubstr;

// The wire format by hand, as any other writer of tf.Example may produce it.

std::string varint(std::uint64_t value) {
    std::string out;
    for (; value >= 128; value >>= 7) {
        out.push_back(static_cast<char>(value | 128));
    }
    out.push_back(static_cast<char>(value));
    return out;
}

std::string field(int number, const std::string& bytes) {
    return varint(static_cast<std::uint64_t>(number) << 3 | 2) + varint(bytes.size()) + bytes;
}

std::string float_bytes(float value) {
    std::string out(4, '\0');
    std::memcpy(out.data(), &value, 4);
    return out;
}

std::string bytes_feature(const std::string& value) {
    return field(1, field(1, value));
}
std::string packed_floats(const std::vector<float>& values) {
    std::string list;
    for (const float value : values) {
        list += float_bytes(value);
    }
    return field(2, field(1, list));
}
std::string single_floats(const std::vector<float>& values) {
    std::string list;
    for (const float value : values) {
        list += varint(1 << 3 | 5) + float_bytes(value);
    }
    return field(2, list);
}
std::string packed_integer(std::uint64_t value) {
    return field(3, field(1, varint(value)));
}
std::string single_integer(std::uint64_t value) {
    return field(3, varint(1 << 3 | 0) + varint(value));
}

using Entries = std::vector<std::pair<std::string, std::string>>;

OwnedExample parse(const Entries& entries) {
    std::string features;
    for (const auto& [key, feature] : entries) {
        features += field(1, field(1, key) + field(2, feature));
    }
    const std::string example = field(1, features);
    return parse_owned(std::as_bytes(std::span(example)));
}

TEST(Example, ReadsTheKeysOfTheSpecAndIgnoresOthers) {
    const OwnedExample example = parse({{"image/class/text", bytes_feature("tench")},
                                        {"image/object/bbox/xmin", packed_floats({0.1f, 0.2f})},
                                        {"image/object/bbox/xmax", single_floats({0.3f, 0.4f})},
                                        {"image/object/bbox/ymin", packed_floats({0.5f, 0.6f})},
                                        {"image/object/bbox/ymax", single_floats({0.7f, 0.8f})},
                                        {"image/class/label", packed_integer(17)},
                                        {"something/else", bytes_feature("?")},
                                        {"image/encoded", bytes_feature("JPEG")}});
    EXPECT_EQ(example.label, 17);
    EXPECT_EQ(example.jpeg, "JPEG");
    ASSERT_EQ(example.boxes.size(), 2u);
    EXPECT_EQ(example.boxes[1].x_min, 0.2f);
    EXPECT_EQ(example.boxes[1].x_max, 0.4f);
    EXPECT_EQ(example.boxes[1].y_min, 0.6f);
    EXPECT_EQ(example.boxes[1].y_max, 0.8f);
}

TEST(Example, Defaults) {
    const OwnedExample example = parse({});
    EXPECT_EQ(example.label, -1);
    EXPECT_TRUE(example.jpeg.empty());
    EXPECT_TRUE(example.boxes.empty());
    EXPECT_EQ(parse({{"image/class/label", single_integer(~std::uint64_t{0})}}).label, -1);
    EXPECT_EQ(parse({{"image/class/label", single_integer(1000)}}).label, 1000);
    EXPECT_EQ(parse({{"image/class/label", ""}}).label, -1);  // a feature without a list
}

TEST(Example, WrongTypesAndLengthsAreErrors) {
    EXPECT_THAT(message_of(ErrorKind::data,
                           [] {
                               parse({{"image/class/label", bytes_feature("1")}});
                           }),
                HasSubstr("image/class/label"));
    EXPECT_THAT(message_of(ErrorKind::data,
                           [] {
                               parse({{"image/encoded", packed_integer(1)}});
                           }),
                HasSubstr("image/encoded"));
    EXPECT_THAT(message_of(ErrorKind::data,
                           [] {
                               parse({{"image/object/bbox/xmin", packed_floats({1})}});
                           }),
                HasSubstr("differ in length"));
}

TEST(Example, TwoValuesInAnEntryAndTwoListsInAFeatureAreNoExampleToAnyReader) {
    const std::string label = field(1, "image/class/label");
    const std::string two_values = label + field(2, packed_integer(1)) + field(2, packed_integer(2));
    const std::string two_lists = label + field(2, packed_integer(1) + bytes_feature("1"));
    for (const std::string& entry : {two_values, two_lists}) {
        const std::string record = field(1, field(1, entry));
        const auto bytes = std::as_bytes(std::span(record));
        EXPECT_EQ(message_of(ErrorKind::data, [&] { parse_owned(bytes); }), "the record is not a tf.Example");
        EXPECT_FALSE(visit_features(bytes, [](std::string_view, const FeatureSummary&) {}));
    }
}

TEST(Example, EqualImagesGiveEqualBytes) {
    const ImageDescription image{"jpeg", 4, "n02", "n02_1.JPEG", 10, 20};
    const std::string bytes = serialise_image_example(image);
    EXPECT_EQ(bytes, serialise_image_example(image));
    const OwnedExample read = parse_owned(std::as_bytes(std::span(bytes)));
    EXPECT_EQ(read.jpeg, "jpeg");
    EXPECT_EQ(read.label, 4);
}

TEST(Example, CutBytesNeverCrash) {
    const std::string bytes = serialise_image_example({std::string(50, 'j'), 4, "n02", "n02_1.JPEG", 10, 20});
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        try {
            parse_owned(std::as_bytes(std::span(bytes).first(size)));
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::data);
        }
    }
}

}  // namespace
}  // namespace cnntrain::data
