// Texts that share rows: their tokens, places and labels.
#include "cnntrain/data/packed_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "cnntrain/data/loader.h"
#include "fixtures.h"

namespace cnntrain::data {
namespace {

using testing::ElementsAre;

/// Texts of these lengths. Text i has the tokens 10 i + 1, 10 i + 2, ... and the label i.
class Texts final : public Dataset {
public:
    Texts(std::vector<std::int32_t> lengths, std::int64_t length) : lengths_(std::move(lengths)), length_(length) {}

    std::int64_t size() const override { return std::ssize(lengths_); }
    std::vector<Field> fields() const override {
        return {{"input_ids", {DType::i32, {length_}}}, {"input_mask", {DType::i32, {length_}}}, {"labels", {}}};
    }
    SampleState read(std::int64_t index, SamplePosition, SampleView out, Workspace&) const override {
        const bool is_padding = index == kPaddingSample;
        const std::int32_t tokens = is_padding ? 1 : lengths_[static_cast<std::size_t>(index)];
        std::vector<std::int32_t> ids(static_cast<std::size_t>(length_));
        std::vector<std::int32_t> mask = ids;
        for (std::size_t i = 0; i < static_cast<std::size_t>(tokens); ++i) {
            ids[i] = is_padding ? 0 : static_cast<std::int32_t>(10 * index) + static_cast<std::int32_t>(i) + 1;
            mask[i] = 1;
        }
        const auto label = is_padding ? kNoLabel : static_cast<std::int32_t>(index);
        std::ranges::copy(std::as_bytes(std::span(ids)), out[0].begin());
        std::ranges::copy(std::as_bytes(std::span(mask)), out[1].begin());
        std::memcpy(out[2].data(), &label, sizeof label);
        return is_padding ? SampleState::padding : SampleState::counted;
    }

private:
    std::vector<std::int32_t> lengths_;
    std::int64_t length_;
};

TEST(PackedTexts, ShareRowsWithTheirLabelsAndPlaces) {
    const auto packed = pack_texts(std::make_shared<Texts>(std::vector{2, 5, 3, 1}, 6), /*slots=*/3, /*threads=*/2);
    ASSERT_EQ(packed->size(), 2);
    EXPECT_EQ(packed->samples(), 4);
    EXPECT_EQ(packed->samples_in(0), 2);
    Loader loader(packed, {.feed = Feed::sweeps, .micro_batch = 3});
    EXPECT_EQ(loader.samples(), 4);
    const Batch batch = loader.next();
    EXPECT_EQ(batch.valid_count, 4);
    const std::vector<Field> fields = loader.fields();
    const auto of = [&](std::string_view name) { return batch.as<std::int32_t>(field_number(fields, name)); };
    EXPECT_FALSE(has_field(fields, "input_mask"));
    EXPECT_THAT(of("input_ids"), ElementsAre(1, 2, 21, 22, 23, 0, 11, 12, 13, 14, 15, 31, 0, 0, 0, 0, 0, 0));
    EXPECT_THAT(of("sequence_numbers"), ElementsAre(1, 1, 2, 2, 2, 0, 1, 1, 1, 1, 1, 2, 0, 0, 0, 0, 0, 0));
    EXPECT_THAT(of("input_position"), ElementsAre(0, 1, 0, 1, 2, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0));
    EXPECT_THAT(of("first_tokens"), ElementsAre(0, 2, 0, 0, 5, 0, 0, 0, 0));
    EXPECT_THAT(of("labels"), ElementsAre(0, 2, -1, 1, 3, -1, -1, -1, -1));
    const PackedPlace last = packed->places()[3];
    EXPECT_EQ(last.row, 1);
    EXPECT_EQ(last.slot, 1);
    EXPECT_EQ(last.first, 5);
    EXPECT_EQ(last.tokens, 1);
}

TEST(PackedTexts, ARowHasNoMoreTextsThanSlots) {
    const std::vector<std::int32_t> ones(7, 1);
    EXPECT_EQ(pack_texts(std::make_shared<Texts>(ones, 16), 3, 1)->size(), 3);
}

}  // namespace
}  // namespace cnntrain::data
