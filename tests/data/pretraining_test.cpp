#include "cnntrain/data/sets.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "bert_golden.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/data/writers.h"
#include "fixtures.h"
#include "sequences.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"
#include "wire_text.h"

namespace cnntrain::data {
namespace {

std::vector<std::string> names_of(const std::vector<Field>& fields) {
    std::vector<std::string> names;
    for (const Field& field : fields)
        names.push_back(field.name);
    return names;
}

class Pretraining : public ::testing::Test {
protected:
    std::shared_ptr<const Dataset> open(const PretrainingSettings& settings) const {
        PretrainingSettings how = settings;
        if (how.files.empty()) how.files = folder_ / "*.tfrecord";
        return open_pretraining(how, 1, 2);
    }
    std::string refusal(ErrorKind kind, const PretrainingSettings& settings) const {
        return message_of(kind, [&] { open(settings); });
    }
    const test::TemporaryFolder folder_;
};

TEST_F(Pretraining, FieldsOfAllLayouts) {
    PretrainingSettings settings;
    EXPECT_THAT(names_of(pretraining_fields(settings)),
                ElementsAre("input_ids", "segment_ids", "input_mask", "masked_lm_positions", "masked_lm_ids",
                            "masked_lm_weights", "next_sentence_labels"));
    settings.static_mask = true;
    const std::vector<Field> fields = pretraining_fields(settings);
    EXPECT_THAT(names_of(fields),
                ElementsAre("input_ids", "segment_ids", "input_position", "mask_padding_index", "seq_padding_index",
                            "masked_lm_ids", "masked_lm_weights", "next_sentence_labels"));
    EXPECT_EQ(field_desc(fields, "input_ids"), (TensorDesc{DType::i32, {128}}));
    EXPECT_EQ(field_desc(fields, "masked_lm_weights"), (TensorDesc{DType::f32, {20}}));
    EXPECT_EQ(field_desc(fields, "seq_padding_index"), (TensorDesc{DType::i32, {1}}));
    settings.static_mask = false;
    settings.packed = true;
    EXPECT_THAT(names_of(pretraining_fields(settings)),
                ElementsAre("input_ids", "segment_ids", "input_position", "sequence_numbers", "masked_lm_positions",
                            "masked_lm_ids", "masked_lm_weights", "next_sentence_positions", "next_sentence_labels",
                            "next_sentence_weights"));
    EXPECT_EQ(field_desc(pretraining_fields(settings), "next_sentence_labels"), (TensorDesc{DType::i32, {16}}));
}

TEST_F(Pretraining, ReadsWhatTheReferenceHasWritten) {
    for (const std::size_t row : {std::size_t{0}, std::size_t{1}}) {
        const auto& golden = bert_golden().at("pretraining_data").at(row);
        data::PretrainingWriterSettings writing;
        writing.input_files = bert_file("corpus.txt");
        writing.output_files = folder_ / "out.tfrecord";
        writing.vocabulary = bert_file("vocab.txt");
        writing.lower_case = true;
        writing.instances = {32, 5, 1984, 2};
        writing.remask = row == 1;
        writing.overwrite = true;
        data::write_pretraining_records(writing);
        PretrainingSettings settings;
        settings.static_mask = row == 1;
        settings.sequence_length = 32;
        settings.max_predictions = 5;
        settings.vocabulary_size = 40;
        const auto data = open(settings);
        ASSERT_EQ(data->size(), golden.at("num_records").get<std::int64_t>());
        for (std::size_t i = 0; i < golden.at("first_records").size(); ++i) {
            const Sample sample = sample_of(*data, static_cast<std::int64_t>(i));
            const auto& expected = golden.at("first_records").at(i);
            for (const PretrainingKey& key : pretraining_keys(settings)) {
                const auto& values = expected.at(std::string(key.key));
                if (key.type == FeatureType::floats) {
                    EXPECT_EQ(sample.of<float>(key.field), values.get<std::vector<float>>()) << key.key;
                } else {
                    EXPECT_EQ(sample.of(key.field), values.get<std::vector<std::int32_t>>()) << key.key;
                }
            }
        }
    }
}

TEST_F(Pretraining, OtherKeysAndUnpackedListsAreReadToo) {
    SequenceRecord record = four_token_record(false);
    record.integers["extra"] = {1, 2, 3};
    record.integers.erase("input_ids");
    record.weights.clear();
    // Two messages one after the other are one with the entries of both.
    const std::string rest = wire::example({{"input_ids", wire::unpacked_integers({7, 8, 9, 10})},
                                            {"masked_lm_weights", wire::unpacked_floats({1, 0.5F})}});
    write_records(folder_ / "a.tfrecord", {record.bytes() + rest});
    const Sample sample = sample_of(*open(four_tokens(false)), 0);
    EXPECT_THAT(sample.of("input_ids"), ElementsAre(7, 8, 9, 10));
    EXPECT_THAT(sample.of<float>("masked_lm_weights"), ElementsAre(1, 0.5F));
    EXPECT_THAT(sample.of("input_mask"), ElementsAre(1, 1, 1, 0));
}

TEST_F(Pretraining, RanksShareOneShuffledStream) {
    for (const int file : {0, 1, 2}) {
        std::vector<std::string> records;
        for (int i = 0; i < 20; ++i)
            records.push_back(four_token_record(true, static_cast<std::uint32_t>(20 * file + i)).bytes());
        write_records(folder_ / ("wiki_" + std::to_string(file) + ".tfrecord"), records);
    }
    const auto data = open(four_tokens(true));
    ASSERT_EQ(data->size(), 60);
    std::vector<std::int32_t> seen;
    for (const std::int64_t rank : {0, 1}) {
        LoaderSettings how;
        how.micro_batch = 5;
        how.rank = rank;
        how.ranks = 2;
        how.threads = 2;
        how.seed = 3;
        Loader loader(data, how);
        EXPECT_EQ(loader.fields().front().desc, (TensorDesc{DType::i32, {5, 4}}));
        for (int batch = 0; batch < 6; ++batch) {
            const Batch got = loader.next();
            const auto ids = got.as<std::int32_t>(0);
            const auto labels = got.as<std::int32_t>(field_number(loader.fields(), "masked_lm_ids"));
            for (std::size_t i = 0; i < 5; ++i) {
                seen.push_back(ids[4 * i]);
                EXPECT_EQ(labels[2 * i], ids[4 * i] + 1) << "a sample's fields stay together";
            }
        }
    }
    EXPECT_FALSE(std::ranges::is_sorted(seen));
    EXPECT_EQ(std::set<std::int32_t>(seen.begin(), seen.end()).size(), 60u) << "each record once in an epoch";
}

TEST_F(Pretraining, RecordsOfAnotherLayout) {
    write_records(folder_ / "a.tfrecord", {four_token_record(true).bytes()});
    EXPECT_THAT(refusal(ErrorKind::data, four_tokens(false)),
                AllOf(HasSubstr("a.tfrecord"), HasSubstr("give --static-mask")));
    write_records(folder_ / "a.tfrecord", {four_token_record(false).bytes()});
    EXPECT_THAT(refusal(ErrorKind::data, four_tokens(true)),
                AllOf(HasSubstr("input_position"), HasSubstr("--static-mask")));
}

TEST_F(Pretraining, EveryFileIsLookedAtWhenItIsOpened) {
    write_records(folder_ / "a.tfrecord", {four_token_record(false).bytes()});
    SequenceRecord longer = four_token_record(false);
    for (const char* key : {"input_ids", "input_mask", "segment_ids"})
        longer.integers[key].push_back(0);
    write_records(folder_ / "b.tfrecord", {longer.bytes()});
    EXPECT_THAT(refusal(ErrorKind::data, four_tokens(false)),
                AllOf(HasSubstr("b.tfrecord, record 0"), HasSubstr("input_ids"), HasSubstr("--sequence-length 4")));
}

TEST_F(Pretraining, ListsOfOtherLengths) {
    const auto with = [&](bool static_mask, const std::string& key, std::vector<std::uint32_t> values) {
        SequenceRecord record = four_token_record(static_mask);
        record.integers[key] = std::move(values);
        write_records(folder_ / "a.tfrecord", {record.bytes()});
        return refusal(ErrorKind::data, four_tokens(static_mask));
    };
    EXPECT_THAT(with(false, "masked_lm_ids", {1, 2, 3}),
                AllOf(HasSubstr("masked_lm_ids"), HasSubstr("--max-predictions-per-seq 3")));
    EXPECT_THAT(with(true, "masked_labels", {1}), HasSubstr("masked_labels"));
    EXPECT_THAT(with(true, "mask_padding_index", {}), AllOf(HasSubstr("mask_padding_index"), Not(HasSubstr("give"))));
    EXPECT_THAT(with(false, "next_sentence_labels", {1, 1}), HasSubstr("next_sentence_labels"));
    SequenceRecord record = four_token_record(false);
    record.weights = {1, 0, 0};
    write_records(folder_ / "a.tfrecord", {record.bytes()});
    EXPECT_THAT(refusal(ErrorKind::data, four_tokens(false)), HasSubstr("masked_lm_weights"));
}

struct WrongValue {
    bool static_mask;
    std::string key;
    std::vector<std::uint32_t> values;
    std::string message;
};

TEST_F(Pretraining, RecordsOfMoreMaskedTokens) {
    SequenceRecord record = four_token_record(true);
    record.integers["mask_padding_index"] = {2};
    write_records(folder_ / "a.tfrecord", {record.bytes()});
    PretrainingSettings settings = four_tokens(true);
    settings.max_predictions = 1;
    EXPECT_THAT(refusal(ErrorKind::data, settings), HasSubstr("--max-predictions-per-seq 2"));
}

TEST_F(Pretraining, ValuesOutOfRange) {
    const std::vector<WrongValue> cases = {
        {false,
         "input_ids",
         {1, 2, 110, 3},
         "input_ids[2] is 110, not in 0..109; a model that takes it has --vocab-size "
         "111 or more, or make the records with another --vocab-file"},
        {true, "input_ids", {4'000'000'000, 0, 0, 0}, "input_ids[0] is 4000000000, not in 0..109"},
        {false,
         "segment_ids",
         {0, 1, 2, 0},
         "segment_ids[2] is 2, not in 0..1; a model that takes it has "
         "--type-vocab-size 3 or more"},
        {true,
         "input_position",
         {0, 1, 2, 9},
         "input_position[3] is 9, not in 0..8; a model that takes it has "
         "--max-position-embeddings 10 or more"},
        {false, "input_mask", {1, 2, 0, 0}, "input_mask[1] is 2, not in 0..1"},
        {true, "mask_padding_index", {3}, "mask_padding_index[0] is 3, not in 0..2"},
        {true, "seq_padding_index", {1}, "seq_padding_index[0] is 1, not in 2..4"},
        {true, "seq_padding_index", {5}, "seq_padding_index[0] is 5, not in 2..4"},
        {false, "masked_lm_positions", {2, 4}, "masked_lm_positions[1] is 4, not in 0..3"},
        {false, "masked_lm_ids", {110, 0}, "masked_lm_ids[0] is 110, not in 0..109"},
        {true, "masked_labels", {0, 110}, "masked_labels[1] is 110, not in 0..109"},
        {true, "next_sentence_labels", {2}, "next_sentence_labels[0] is 2, not in 0..1"},
    };
    for (const WrongValue& row : cases) {
        SequenceRecord bad = four_token_record(row.static_mask);
        bad.integers[row.key] = row.values;
        write_records(folder_ / "a.tfrecord", {four_token_record(row.static_mask).bytes(), bad.bytes()});
        const auto data = open(four_tokens(row.static_mask));
        EXPECT_THAT(message_of(ErrorKind::data, [&] { sample_of(*data, 1); }),
                    AllOf(HasSubstr("a.tfrecord"), HasSubstr("): " + row.message)));
    }
}

TEST_F(Pretraining, WeightsAreShares) {
    for (const float weight : {-0.5F, 1.5F, std::numeric_limits<float>::quiet_NaN()}) {
        SequenceRecord bad = four_token_record(true);
        bad.weights[1] = weight;
        write_records(folder_ / "a.tfrecord", {bad.bytes()});
        EXPECT_THAT(refusal(ErrorKind::data, four_tokens(true)), HasSubstr("masked_lm_weights[1] is "));
    }
}

TEST_F(Pretraining, NegativeValues) {
    SequenceRecord record = four_token_record(false);
    record.integers.erase("input_ids");
    write_records(folder_ / "a.tfrecord",
                  {record.bytes() + wire::example({{"input_ids", wire::integers({1, -1, 2, 3})}})});
    EXPECT_THAT(refusal(ErrorKind::data, four_tokens(false)),
                AllOf(HasSubstr("input_ids[1]"), Not(HasSubstr("--vocab-size"))));
}

TEST_F(Pretraining, RecordsThatAreNone) {
    const auto message = [&](const std::string& payload) {
        write_records(folder_ / "a.tfrecord", {payload});
        return refusal(ErrorKind::data, four_tokens(false));
    };
    EXPECT_THAT(message("no example"), HasSubstr("tf.Example"));
    EXPECT_THAT(message(""), HasSubstr("input_ids"));
    SequenceRecord record = four_token_record(false);
    record.integers.erase("segment_ids");
    EXPECT_THAT(message(record.bytes() + wire::example({{"segment_ids", wire::floats({1, 2, 3, 4})}})),
                HasSubstr("segment_ids"));
    EXPECT_THAT(message(record.bytes()), AllOf(HasSubstr("segment_ids"), Not(HasSubstr("--static-mask"))));
}

TEST_F(Pretraining, FilesAreFoundByPatterns) {
    std::filesystem::create_directories(folder_ / "sub.tfrecord");
    for (const char* name : {"b.tfrecord", "a.tfrecord", "c.txt"})
        write_records(folder_ / name, {four_token_record(false).bytes()});
    write_file(folder_ / "pretraining.cnntrain-index", "");
    write_file(folder_ / "a.tfrecord.conversion.jsonl", "");
    write_file(folder_ / "d.tfrecord.0123456789ab.partial", "");
    const auto names = [&](const std::string& patterns) {
        std::vector<std::string> found;
        for (const std::string& path : matching_files(patterns))
            found.push_back(std::filesystem::path(path).filename().string());
        return found;
    };
    EXPECT_THAT(names(folder_ / "*"), ElementsAre("a.tfrecord", "b.tfrecord", "c.txt"));
    EXPECT_THAT(names(folder_ / "[b-z].*" + " , " + (folder_ / "?.tfrecord") + ","),
                ElementsAre("b.tfrecord", "c.txt", "a.tfrecord", "b.tfrecord"));
    EXPECT_THAT(message_of(ErrorKind::data, [&] { names(folder_ / "*.tfrecord," + folder_.path() + "/x*"); }),
                HasSubstr(folder_.path()));
    PretrainingSettings settings = four_tokens(false);
    settings.files = (folder_ / "*.tfrecord") + "," + (folder_ / "a.tfrecord");
    EXPECT_EQ(open(settings)->size(), 3) << "a file that is named twice counts twice";
    EXPECT_EQ(open(settings)->size(), 3) << "also with the index that the first call has kept";
    settings.files = " ";
    EXPECT_THAT(refusal(ErrorKind::usage, settings), HasSubstr("files"));
    write_file(folder_ / "empty", "");
    settings.files = folder_ / "empty";
    EXPECT_THAT(refusal(ErrorKind::data, settings), HasSubstr("record"));
}

TEST_F(Pretraining, NamesThatAreNotThereAreAnsweredWithThoseThatAre) {
    std::filesystem::create_directories(folder_ / "text/tokenised_128_dup5_mask20");
    std::filesystem::create_directories(folder_ / "text/tokenised_384_dup5_mask58");
    std::filesystem::create_directories(folder_ / "none");
    write_file(folder_ / "text/tokenised_128_dup5_mask20/wiki_00.tfrecord", "");
    const auto message = [&](const std::string& pattern) {
        return message_of(ErrorKind::data, [&] { matching_files(folder_ / pattern); });
    };
    const std::string in_text = "; in " + (folder_ / "text");
    EXPECT_EQ(message("text/tokenised_384_dup5_msk58/*.tfrecord"),
              "no file fits the pattern '" + (folder_ / "text/tokenised_384_dup5_msk58/*.tfrecord") + "'" + in_text +
                  " there is no 'tokenised_384_dup5_msk58'; did you mean 'tokenised_384_dup5_mask58'?");
    EXPECT_THAT(message("text/tokenised_128_dup5/00.tfrecord"), HasSubstr("'tokenised_128_dup5_mask20'"));
    EXPECT_THAT(message("text/other/*"), HasSubstr(in_text));
    EXPECT_THAT(message("text/tokenised_128_dup5_mask20/x*"), HasSubstr("wiki_00.tfrecord"));
    EXPECT_THAT(message("none/*"), HasSubstr((folder_ / "none")));
}

TEST_F(Pretraining, SettingsThatCannotBe) {
    const auto refused = [&](auto change, const std::string& part) {
        PretrainingSettings settings = four_tokens(false);
        settings.generated = true;
        change(settings);
        EXPECT_THAT(refusal(ErrorKind::usage, settings), HasSubstr(part));
    };
    refused([](auto& how) { how.sequence_length = 0; }, "--seq-length is 0");
    refused([](auto& how) { how.max_predictions = 0; }, "--max-predictions-per-seq is 0");
    refused([](auto& how) { how.max_predictions = 4; }, "--seq-length 4");
    refused([](auto& how) { how.vocabulary_size = -3; }, "--vocab-size is -3");
    refused([](auto& how) { how.type_vocabulary = 0; }, "--type-vocab-size is 0");
    refused([](auto& how) { how.max_positions = 3; }, "--max-position-embeddings 3");
}

TEST_F(Pretraining, PaddingCountsForNothing) {
    for (const bool static_mask : {false, true}) {
        PretrainingSettings settings = four_tokens(static_mask);
        settings.generated = true;
        const auto data = open(settings);
        const Sample sample(data->fields());
        Workspace workspace;
        EXPECT_EQ(data->read(kPaddingSample, {}, sample.view(), workspace), SampleState::padding);
        EXPECT_THAT(sample.of<float>("masked_lm_weights"), Each(0));
        EXPECT_THAT(sample.of("next_sentence_labels"), ElementsAre(kNoSentenceLabel));
        EXPECT_THAT(sample.of("input_ids"), Each(0));
        if (static_mask) {
            EXPECT_THAT(sample.of("seq_padding_index"), ElementsAre(3));
            EXPECT_THAT(sample.of("mask_padding_index"), ElementsAre(0));
        } else {
            EXPECT_THAT(sample.of("input_mask"), ElementsAre(1, 0, 0, 0));
        }
    }
}

/// Writes a sample as a record again: the parser accepts no value out of its range.
std::string record_of(const Sample& sample, const PretrainingSettings& settings) {
    ExampleEncoder encoder;
    for (const PretrainingKey& key : pretraining_keys(settings)) {
        if (key.type == FeatureType::floats) {
            encoder.add(key.key, sample.of<float>(key.field));
        } else {
            const std::vector<std::int32_t> values = sample.of(key.field);
            encoder.add(key.key, std::vector<std::uint32_t>(values.begin(), values.end()));
        }
    }
    std::string bytes;
    encoder.finish(bytes);
    return bytes;
}

TEST_F(Pretraining, GeneratedSequencesAreSoundAndOfTheirSeed) {
    for (const auto& [static_mask, packed] : {std::pair{false, false}, {true, false}, {false, true}}) {
        PretrainingSettings settings;
        settings.generated = true;
        settings.static_mask = static_mask;
        settings.packed = packed;
        const auto data = open(settings);
        const auto same = open_pretraining(settings, 1, 1);
        const auto other = open_pretraining(settings, 2, 1);
        ASSERT_EQ(data->size(), 1000);
        double ids = 0;
        int labels = 0;
        for (std::int64_t i = 0; i < data->size(); ++i) {
            const Sample sample = sample_of(*data, i);
            const std::string record = record_of(sample, settings);
            const Sample parsed(data->fields());
            const auto fault =
                parse_pretraining_example(std::as_bytes(std::span(record)), pretraining_keys(settings), parsed.view());
            ASSERT_FALSE(fault) << fault->what;
            ASSERT_EQ(record, record_of(sample_of(*same, i), settings));
            ASSERT_NE(record, record_of(sample_of(*other, i), settings));
            std::vector<std::int32_t> places = sample.of(static_mask ? "input_position" : "masked_lm_positions");
            // [CLS] stands after the masked tokens, and is none of them.
            EXPECT_EQ(places[static_mask ? 20 : 0] == 0, static_mask);
            std::ranges::sort(places);
            EXPECT_EQ(std::ranges::adjacent_find(places), places.end()) << "no position twice";
            ids += sample.of("input_ids")[i % 128];
            labels += sample.of("next_sentence_labels")[0];
        }
        EXPECT_NEAR(ids / 1000, 30522 / 2.0, 1200);
        EXPECT_NEAR(labels, 500, 60);
    }
}

}  // namespace
}  // namespace cnntrain::data
