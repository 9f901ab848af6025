#include "data/records/example.h"

#include "data/write/inspect.h"
#include "data/write/shard_writer.h"
#include "fixtures.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "wire_text.h"

namespace cnntrain::data {
namespace {

OwnedExample parse(const std::vector<wire::Entry>& entries) {
    const std::string example = wire::example(entries);
    return parse_owned(std::as_bytes(std::span(example)));
}

TEST(Example, ReadsTheKeysOfTheSpecAndIgnoresOthers) {
    const OwnedExample example = parse({{"image/class/text", wire::bytes({"tench"})},
                                        {"image/object/bbox/xmin", wire::floats({0.1f, 0.2f})},
                                        {"image/object/bbox/xmax", wire::unpacked_floats({0.3f, 0.4f})},
                                        {"image/object/bbox/ymin", wire::floats({0.5f, 0.6f})},
                                        {"image/object/bbox/ymax", wire::unpacked_floats({0.7f, 0.8f})},
                                        {"image/class/label", wire::integers({17})},
                                        {"something/else", wire::bytes({"?"})},
                                        {"image/encoded", wire::bytes({"JPEG"})}});
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
    EXPECT_EQ(parse({{"image/class/label", wire::unpacked_integers({-1})}}).label, -1);
    EXPECT_EQ(parse({{"image/class/label", wire::unpacked_integers({1000})}}).label, 1000);
    EXPECT_EQ(parse({{"image/class/label", ""}}).label, -1);  // a feature without a list
}

TEST(Example, WrongTypesAndLengthsAreErrors) {
    EXPECT_THAT(message_of(ErrorKind::data,
                           [] {
                               parse({{"image/class/label", wire::bytes({"1"})}});
                           }),
                HasSubstr("image/class/label"));
    EXPECT_THAT(message_of(ErrorKind::data,
                           [] {
                               parse({{"image/encoded", wire::integers({1})}});
                           }),
                HasSubstr("image/encoded"));
    EXPECT_THAT(message_of(ErrorKind::data,
                           [] {
                               parse({{"image/object/bbox/xmin", wire::floats({1})}});
                           }),
                HasSubstr("differ"));
}

TEST(Example, TwoValuesInAnEntryAndTwoListsInAFeatureAreNoExampleToAnyReader) {
    const std::string label = wire::field(1, "image/class/label");
    const std::string two_values = label + wire::field(2, wire::integers({1})) + wire::field(2, wire::integers({2}));
    const std::string two_lists = label + wire::field(2, wire::integers({1}) + wire::bytes({"1"}));
    for (const std::string& entry : {two_values, two_lists}) {
        const std::string record = wire::field(1, wire::field(1, entry));
        const auto bytes = std::as_bytes(std::span(record));
        EXPECT_EQ(message_of(ErrorKind::data, [&] { parse_owned(bytes); }), "the record is not a tf.Example");
        EXPECT_FALSE(data::visit_features(bytes, [](std::string_view, const data::FeatureSummary&) {}));
    }
}

TEST(Example, EqualImagesGiveEqualBytes) {
    const data::ImageDescription image{"jpeg", 4, "n02", "n02_1.JPEG", 10, 20};
    const std::string bytes = data::serialise_image_example(image);
    EXPECT_EQ(bytes, serialise_image_example(image));
    const OwnedExample read = parse_owned(std::as_bytes(std::span(bytes)));
    EXPECT_EQ(read.jpeg, "jpeg");
    EXPECT_EQ(read.label, 4);
}

TEST(Example, CutBytesNeverCrash) {
    const std::string bytes = data::serialise_image_example({std::string(50, 'j'), 4, "n02", "n02_1.JPEG", 10, 20});
    for (std::size_t size = 0; size < bytes.size(); ++size)
        refusal_of(ErrorKind::data, [&] { parse_owned(std::as_bytes(std::span(bytes).first(size))); });
}

}  // namespace
}  // namespace cnntrain::data
