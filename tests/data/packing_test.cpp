// Sequences in rows: which share one, and that rows hold them unchanged.
#include "data/records/packing.h"

#include <algorithm>
#include <set>

#include "bert_golden.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/data/sets.h"
#include "cnntrain/data/writers.h"
#include "fixtures.h"
#include "sequences.h"
#include "support/errors.h"
#include "support/temporary_folder.h"

namespace cnntrain::data {
namespace {

using test::message_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<RowShare> random_shares(std::int64_t count, std::int64_t longest) {
    Rng rng(1, RngStream::test);
    std::vector<RowShare> shares;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t tokens = rng.integer(5, longest + 1);
        shares.push_back({tokens, std::max<std::int64_t>(1, tokens * 15 / 100), 1});
    }
    return shares;
}

std::vector<std::uint32_t> row_of(const Packing& packing, std::int64_t row) {
    const auto numbers = packing.sequences(row);
    return {numbers.begin(), numbers.end()};
}

TEST(Packing, EverySequenceIsInOneRowThatHasRoomForIt) {
    const std::vector<RowShare> shares = random_shares(20'000, 512);
    const RowShare room{512, 76, 64};
    const Packing packing = pack(shares, room);
    std::vector<int> met(shares.size());
    std::int64_t tokens = 0;
    for (std::int64_t row = 0; row < packing.rows(); ++row) {
        RowShare used{0, 0, 0};
        for (const std::uint32_t number : packing.sequences(row)) {
            ++met[number];
            used.tokens += shares[number].tokens;
            used.predictions += shares[number].predictions;
            ++used.sequences;
        }
        EXPECT_LE(used.tokens, room.tokens);
        EXPECT_LE(used.predictions, room.predictions);
        EXPECT_LE(used.sequences, room.sequences);
        EXPECT_TRUE(std::ranges::is_sorted(packing.sequences(row)));
        tokens += used.tokens;
    }
    EXPECT_EQ(std::ranges::count(met, 1), std::ssize(met));
    EXPECT_GT(static_cast<double>(tokens), 0.98 * 512 * static_cast<double>(packing.rows())) << "rows are full";
}

TEST(Packing, TheLongestComeFirstAndFillTheRowThatTheyFitBest) {
    const std::vector<RowShare> shares = {{3, 1, 1}, {6, 1, 1}, {4, 1, 1}, {8, 1, 1}, {2, 1, 1}};
    const Packing packing = pack(shares, {10, 9, 9});
    ASSERT_EQ(packing.rows(), 3);
    EXPECT_THAT(row_of(packing, 0), ElementsAre(0));
    EXPECT_THAT(row_of(packing, 1), ElementsAre(1, 2));
    EXPECT_THAT(row_of(packing, 2), ElementsAre(3, 4));
}

TEST(Packing, PredictionsAndSequencesAreLimitedToo) {
    const std::vector<RowShare> shares(6, {1, 2, 1});
    EXPECT_EQ(pack(shares, {10, 12, 6}).rows(), 1);
    EXPECT_EQ(pack(shares, {10, 7, 6}).rows(), 2);
    EXPECT_EQ(pack(shares, {10, 12, 2}).rows(), 3);
}

TEST(Packing, AWindowDoesNotDependOnThoseBehindIt) {
    std::vector<RowShare> shares = random_shares(3 * 8192, 100);
    const Packing all = pack(shares, {128, 20, 16});
    shares.resize(8192);
    const Packing first = pack(shares, {128, 20, 16});
    ASSERT_LT(first.rows(), all.rows());
    for (std::int64_t row = 0; row < first.rows(); ++row)
        EXPECT_EQ(row_of(first, row), row_of(all, row));
}

/// A sequence as text: tokens with segments, masked tokens with positions, label.
std::string text_of(std::span<const std::int32_t> ids, std::span<const std::int32_t> segments,
                    const std::vector<std::pair<std::int32_t, std::int32_t>>& masked, std::int32_t label) {
    std::string text;
    for (std::size_t i = 0; i < ids.size(); ++i)
        text += std::to_string(ids[i]) + "/" + std::to_string(segments[i]) + " ";
    for (const auto& [position, id] : masked)
        text += "[" + std::to_string(position) + "]" + std::to_string(id);
    return text + " " + std::to_string(label);
}

/// The sequences of a row in the order of their text; those without some of their tokens are left out.
std::vector<std::string> sequences_of(const Sample& row) {
    const auto numbers = row.of("sequence_numbers");
    const auto weights = row.of<float>("masked_lm_weights");
    const auto label_weights = row.of<float>("next_sentence_weights");
    std::vector<std::string> texts;
    const std::int32_t count = std::ranges::max(numbers);
    for (std::int32_t number = 1; number <= count; ++number) {
        const auto tokens = static_cast<std::size_t>(std::ranges::count(numbers, number));
        std::vector<std::int32_t> ids(tokens, -1);
        std::vector<std::int32_t> segments(tokens, -1);
        std::vector<std::pair<std::int32_t, std::int32_t>> masked;
        bool whole = true;
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            if (numbers[i] != number) continue;
            const auto position = static_cast<std::size_t>(row.of("input_position")[i]);
            whole = whole && position < tokens;
            if (!whole) break;
            ids[position] = row.of("input_ids")[i];
            segments[position] = row.of("segment_ids")[i];
        }
        for (std::size_t i = 0; i < weights.size(); ++i) {
            const auto place = static_cast<std::size_t>(row.of("masked_lm_positions")[i]);
            if (weights[i] > 0 && numbers[place] == number)
                masked.emplace_back(row.of("input_position")[place], row.of("masked_lm_ids")[i]);
        }
        const auto slot = static_cast<std::size_t>(number - 1);
        const auto first = static_cast<std::size_t>(row.of("next_sentence_positions")[slot]);
        EXPECT_EQ(numbers[first], number);
        EXPECT_EQ(row.of("input_position")[first], 0);
        EXPECT_EQ(label_weights[slot], 1);
        if (whole) texts.push_back(text_of(ids, segments, masked, row.of("next_sentence_labels")[slot]));
    }
    EXPECT_EQ(std::ranges::count(label_weights, 1.0F), count);
    return texts;
}

std::string padded_text(const Sample& row) {
    const auto tokens = static_cast<std::size_t>(std::ranges::count(row.of("input_mask"), 1));
    const auto predictions = std::ranges::count(row.of<float>("masked_lm_weights"), 1.0F);
    std::vector<std::pair<std::int32_t, std::int32_t>> masked;
    for (std::size_t i = 0; i < static_cast<std::size_t>(predictions); ++i)
        masked.emplace_back(row.of("masked_lm_positions")[i], row.of("masked_lm_ids")[i]);
    std::vector<std::int32_t> ids = row.of("input_ids");
    std::vector<std::int32_t> segments = row.of("segment_ids");
    ids.resize(tokens);
    segments.resize(tokens);
    return text_of(ids, segments, masked, row.of("next_sentence_labels")[0]);
}

class PackedSequences : public ::testing::Test {
protected:
    PackedSequences() {
        settings_.files = folder_ / "*.tfrecord";
        settings_.sequence_length = 64;
        settings_.max_predictions = 10;
        settings_.vocabulary_size = 40;
    }
    /// Sequences of up to 64 tokens, many of them short.
    data::PretrainingWriterResult write(bool packed, const std::string& name = "out.tfrecord",
                                        bool remask = false) const {
        data::PretrainingWriterSettings writing;
        writing.input_files = bert_file("corpus.txt");
        writing.output_files = folder_ / name;
        writing.vocabulary = bert_file("vocab.txt");
        writing.lower_case = true;
        writing.instances = {64, 10, 1984, 5, 0.15, 0.6};
        writing.packed = packed;
        writing.remask = remask;
        writing.overwrite = true;
        return data::write_pretraining_records(writing);
    }
    std::shared_ptr<const Dataset> open(bool packed, int threads = 2) const {
        PretrainingSettings how = settings_;
        how.packed = packed;
        return open_pretraining(how, 1, threads);
    }
    std::multiset<std::string> padded() const {
        std::multiset<std::string> texts;
        const auto data = open(false);
        for (std::int64_t i = 0; i < data->size(); ++i)
            texts.insert(padded_text(sample_of(*data, i)));
        return texts;
    }
    static std::multiset<std::string> in_rows(const Dataset& data) {
        std::multiset<std::string> texts;
        for (std::int64_t i = 0; i < data.size(); ++i) {
            for (const std::string& text : sequences_of(sample_of(data, i)))
                texts.insert(text);
        }
        return texts;
    }

    const test::TemporaryFolder folder_;
    PretrainingSettings settings_;
};

TEST_F(PackedSequences, OrdinaryFilesArePackedWhenTheyAreOpened) {
    write(false);
    const std::multiset<std::string> sequences = padded();
    const auto rows = open(true);
    EXPECT_LT(rows->size(), std::ssize(sequences));
    EXPECT_EQ(in_rows(*rows), sequences);
    EXPECT_EQ(rows->origin().samples, rows->size());
    EXPECT_THAT(rows->place(0).text, AllOf(HasSubstr("out.tfrecord, record 0"), HasSubstr(" more")));
    const auto same = open(true, 1);
    ASSERT_EQ(same->size(), rows->size());
    for (std::int64_t i = 0; i < rows->size(); ++i)
        EXPECT_EQ(sequences_of(sample_of(*same, i)), sequences_of(sample_of(*rows, i)));
}

/// Files of the static layout lack tokens with the id of padding.
TEST_F(PackedSequences, FilesWithMaskedTokensInFrontArePackedToo) {
    write(false);
    std::multiset<std::string> sequences = padded();
    std::erase_if(sequences, [](const std::string& text) { return (" " + text).find(" 0/") != std::string::npos; });
    write(false, "out.tfrecord", /*remask=*/true);
    settings_.static_mask = true;
    EXPECT_GT(sequences.size(), 20U);
    EXPECT_EQ(in_rows(*open(true)), sequences);
}

TEST_F(PackedSequences, PackedFilesHoldTheSequencesOfOrdinaryOnes) {
    const auto padded_result = write(false);
    const std::multiset<std::string> sequences = padded();
    const auto result = write(true);
    EXPECT_EQ(result.sequences, padded_result.records);
    EXPECT_EQ(result.masked_tokens, padded_result.masked_tokens);
    EXPECT_EQ(result.random_next, padded_result.random_next);
    const auto rows = open(true);
    EXPECT_EQ(rows->size(), result.records);
    EXPECT_EQ(in_rows(*rows), sequences);
    std::int64_t tokens = 0;
    for (std::int64_t i = 0; i < rows->size(); ++i)
        tokens += 64 - std::ranges::count(sample_of(*rows, i).of("sequence_numbers"), 0);
    EXPECT_EQ(result.sequence_tokens, tokens);
}

TEST_F(PackedSequences, OtherLayoutsAreToldApart) {
    write(true);
    EXPECT_THAT(message_of(ErrorKind::data, [&] { open(false); }), HasSubstr("--packed"));
    write(false, "second.tfrecord");
    EXPECT_THAT(message_of(ErrorKind::data, [&] { open(true); }), HasSubstr("second.tfrecord, record 0"));
}

TEST_F(PackedSequences, PaddingBetweenTokensIsRefused) {
    SequenceRecord record = four_token_record(false);
    record.integers["input_mask"] = {1, 0, 1, 0};
    write_records(folder_ / "a.tfrecord", {four_token_record(false).bytes(), record.bytes()});
    settings_ = four_tokens(false);
    settings_.files = folder_ / "*.tfrecord";
    EXPECT_THAT(message_of(ErrorKind::data, [&] { open(true); }), HasSubstr("a.tfrecord, record 1"));
}

TEST_F(PackedSequences, NumbersOfSequencesCountUp) {
    settings_ = four_tokens(false);
    settings_.files = folder_ / "*.tfrecord";
    const auto with_numbers = [&](std::vector<std::uint32_t> numbers) {
        SequenceRecord record = four_token_record(false);
        auto& values = record.integers;
        values.erase("input_mask");
        values["input_position"] = {0, 1, 0, 0};
        values["sequence_numbers"] = std::move(numbers);
        values["next_sentence_positions"] = {0, 2};
        values["next_sentence_labels"] = {0, 1};
        record.sentence_weights = {1, 1};
        write_records(folder_ / "a.tfrecord", {record.bytes()});
        return test::refusal_of(ErrorKind::data, [&] { open(true); });
    };
    EXPECT_EQ(with_numbers({1, 1, 2, 0}), "");
    EXPECT_THAT(with_numbers({1, 2, 1, 0}), HasSubstr("sequence_numbers[2] is 1 behind 2"));
    EXPECT_THAT(with_numbers({1, 0, 1, 0}), HasSubstr("sequence_numbers[2] is 1 behind 0"));
    EXPECT_THAT(with_numbers({2, 2, 0, 0}), HasSubstr("sequence_numbers[0] is 2 behind 0"));
}

TEST_F(PackedSequences, ARowOfPaddingCountsForNothing) {
    settings_.generated = true;
    const auto rows = open(true);
    std::vector<std::vector<std::byte>> bytes;
    std::vector<std::span<std::byte>> views;
    for (const Field& field : rows->fields())
        views.emplace_back(bytes.emplace_back(field.desc.bytes(), std::byte{0xee}));
    Workspace workspace;
    EXPECT_EQ(rows->read(kPaddingSample, {}, views, workspace), SampleState::padding);
    for (const auto& field : bytes)
        EXPECT_EQ(std::ranges::count(field, std::byte{0}), std::ssize(field));
}

}  // namespace
}  // namespace cnntrain::data
