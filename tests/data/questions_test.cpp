#include "cnntrain/data/questions.h"

#include <array>
#include <map>
#include <set>

#include "data/records/example.h"
#include "data/records/tfrecord.h"
#include "squad_golden.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/sha256.h"

namespace cnntrain::data {
namespace {

using nlohmann::json;

/// "key:1,2,;" for every key in alphabetical order, then a line feed.
std::string squad_record_text(std::span<const std::byte> record) {
    std::map<std::string, std::string, std::less<>> features;
    EXPECT_TRUE(for_each_feature(record, [&](const FeatureEntry& entry) {
        std::string& text = features[std::string(entry.key)];
        return for_each_integer(entry.feature, [&](std::int64_t value) { text += std::to_string(value) + ","; });
    }));
    std::string text;
    for (const auto& [key, values] : features)
        text += key + ":" + values.substr(0, values.size() - 1) + ";";
    return text + "\n";
}

/// The integers of all fields of a sample, field after field.
std::vector<std::int32_t> ints_of(const Dataset& data, std::int64_t index) {
    std::vector<std::vector<std::int32_t>> values;
    std::vector<std::span<std::byte>> views;
    for (const Field& field : data.fields())
        values.emplace_back(static_cast<std::size_t>(field.desc.elements()), -9);
    for (std::vector<std::int32_t>& field : values)
        views.push_back(std::as_writable_bytes(std::span(field)));
    Workspace workspace;
    const SampleState state = data.read(index, {}, views, workspace);
    EXPECT_EQ(state, index == kPaddingSample ? SampleState::padding : SampleState::counted);
    std::vector<std::int32_t> all;
    for (const std::vector<std::int32_t>& field : values)
        all.insert(all.end(), field.begin(), field.end());
    return all;
}

std::vector<std::vector<std::int32_t>> all_samples(const Dataset& data) {
    std::vector<std::vector<std::int32_t>> samples;
    for (std::int64_t i = 0; i < data.size(); ++i)
        samples.push_back(ints_of(data, i));
    return samples;
}

class Questions : public ::testing::Test {
protected:
    Questions() {
        for (const bool v2 : {false, true})
            write_text(files_, squad_settings(false, v2).file, read_file(squad_settings(false, v2).file));
        write_text(files_, bert_file("vocab.txt"), read_file(bert_file("vocab.txt")));
    }

    /// With a vocabulary of this project's tests.
    std::shared_ptr<const QuestionSet> read(const std::string& text, bool training = true, bool v2 = false) {
        QuestionSettings settings = squad_settings(training, v2);
        settings.file = "t.json";
        write_text(files_, "t.json", text);
        return read_questions(settings, 2, files_);
    }
    /// A file of one paragraph.
    static std::string file_with(const std::string& context, const std::string& qas) {
        return R"({"data": [{"paragraphs": [{"context": ")" + context + R"(", "qas": [)" + qas + "]}]}]}";
    }
    static std::string question(const std::string& answer, int start, const std::string& id = "q1") {
        return R"({"id": ")" + id + R"(", "question": "the dog", "answers": [{"text": ")" + answer +
               R"(", "answer_start": )" + std::to_string(start) + "}]}";
    }
    std::string refusal(const std::string& text, bool training = true, bool v2 = false) {
        return message_of(ErrorKind::data, [&] { read(text, training, v2); });
    }

    MemoryFiles files_;
};

TEST_F(Questions, RecordsOfTheReference) {
    int compared = 0;
    for (const json& row : squad_golden().at("squad_features")) {
        QuestionSettings settings = squad_settings(row.at("training"), row.at("version_2"));
        settings.sequence_length = row.at("seq_length");
        settings.doc_stride = row.at("doc_stride");
        settings.max_query_length = row.at("max_query_length");
        const std::int64_t padding_to = row.at("padding_to");
        const auto set = read_questions(settings, 2, files_);
        EXPECT_EQ(std::ssize(set->questions), row.at("examples").get<std::int64_t>());
        EXPECT_EQ(std::ssize(set->features), row.at("features").get<std::int64_t>());
        write_features(*set, "cache", padding_to, files_);
        const FeatureFiles paths = feature_files(*set, "cache", padding_to);
        EXPECT_EQ(read_text(files_, paths.metadata), std::to_string(set->features.size()) + "\n");
        const RecordFiles records({paths.records}, {}, files_);
        EXPECT_EQ(records.size(), row.at("records").get<std::int64_t>());
        std::string all;
        std::vector<std::byte> buffer;
        for (std::int64_t i = 0; i < records.size(); ++i)
            all += squad_record_text(records.read(i, buffer));
        EXPECT_EQ(sha256(all), row.at("digest").get<std::string>()) << row.at("case");
        ++compared;
    }
    EXPECT_EQ(compared, 5);
}

TEST_F(Questions, WordsOfTheAnswers) {
    const auto set = read_questions(squad_settings(true, false), 1);
    const json& rows = squad_golden().at("squad_example_positions");
    ASSERT_EQ(set->questions.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Question& question = set->questions[i];
        EXPECT_EQ(question.id, rows[i].at("id").get<std::string>());
        EXPECT_EQ(question.first_word, rows[i].at("start").get<std::int64_t>());
        EXPECT_EQ(question.last_word, rows[i].at("end").get<std::int64_t>());
        EXPECT_EQ(question.answers.at(0), rows[i].at("answer").get<std::string>());
        EXPECT_EQ(question.context->words.size(), rows[i].at("words").get<std::size_t>());
    }
}

TEST_F(Questions, FeaturesOfTheReference) {
    const auto shared = read_questions(squad_settings(true, false), 1);
    const QuestionSet& set = *shared;
    const auto features = question_features(shared);
    const json& rows = squad_golden().at("squad_feature_positions");
    ASSERT_EQ(set.features.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const QuestionFeature& feature = set.features[i];
        const Question& question = set.questions[feature.question];
        const std::vector<std::int32_t> values = ints_of(*features, static_cast<std::int64_t>(i));
        EXPECT_EQ(feature.question, rows[i].at("example").get<std::int64_t>());
        EXPECT_EQ(i - question.first_feature, rows[i].at("span").get<std::size_t>());
        EXPECT_EQ(kFirstUniqueId + static_cast<std::int64_t>(i), rows[i].at("unique_id").get<std::int64_t>());
        EXPECT_EQ(values.at(96), rows[i].at("start").get<std::int64_t>()) << i;
        EXPECT_EQ(values.at(97), rows[i].at("end").get<std::int64_t>()) << i;
        if (rows[i].at("tokens").is_null()) continue;
        std::vector<std::string> tokens;
        for (std::size_t k = 0; k < 32 && values[64 + k] == 1; ++k)
            tokens.push_back(set.pieces.at(static_cast<std::size_t>(values[k])));
        EXPECT_EQ(tokens, rows[i].at("tokens").get<std::vector<std::string>>());
        std::vector<std::size_t> positions;
        const std::vector<std::size_t> max_context = set.max_context(question);
        for (std::size_t k = 0; k < feature.length; ++k) {
            if (max_context[feature.begin + k] == i) positions.push_back(k + set.window_position(feature));
        }
        EXPECT_EQ(positions, rows[i].at("max_context").get<std::vector<std::size_t>>());
    }
}

TEST_F(Questions, ADataSetOfFeatures) {
    for (const bool training : {true, false}) {
        const QuestionSettings settings = squad_settings(training, false);
        const auto data = question_features(read_questions(settings, 1));
        const TensorDesc tokens{DType::i32, {32}};
        std::vector<Field> fields = {{"input_ids", tokens}, {"segment_ids", tokens}, {"input_mask", tokens}};
        if (training) fields.push_back({"answer_positions", {DType::i32, {2}}});
        EXPECT_EQ(data->fields(), fields);
        std::vector<std::int32_t> padding(training ? 98 : 96, 0);
        padding[64] = 1;
        if (training) padding[96] = padding[97] = kNoPosition;
        EXPECT_EQ(ints_of(*data, kPaddingSample), padding);
        EXPECT_EQ(data->place(4).text, settings.file + ", question a2, window 1");
        const Origin origin = data->origin();
        EXPECT_EQ(origin.samples, 28);
        ASSERT_THAT(origin.parts, SizeIs(2));
        EXPECT_EQ(origin.parts[0], part_of_file(posix_files(), settings.file, 28));
        EXPECT_EQ(origin.parts[1], part_of_file(posix_files(), settings.vocabulary_file, 0));
    }
}

TEST_F(Questions, TheNumberOfThreadsDoesNotMatter) {
    for (const bool v2 : {false, true}) {
        const auto one = question_features(read_questions(squad_settings(true, v2), 1));
        const auto three = question_features(read_questions(squad_settings(true, v2), 3));
        EXPECT_EQ(all_samples(*one), all_samples(*three));
    }
}

TEST_F(Questions, RecordsAreNamedAfterTheirSource) {
    QuestionSettings settings = squad_settings(true, false);
    const auto name = [&] { return feature_files(*read_questions(settings, 1, files_), "cache", 1).records; };
    std::set<std::string> names = {name()};
    settings.lower_case = false;
    EXPECT_TRUE(names.insert(name()).second);
    settings.lower_case = true;
    for (const std::string& path : {settings.file, settings.vocabulary_file}) {
        files_.append(path, "\n");
        EXPECT_TRUE(names.insert(name()).second) << path;
    }
    EXPECT_TRUE(name().starts_with("cache/32_8_6_SQuAD11-")) << name();
}

TEST_F(Questions, WrittenRecordsStay) {
    const auto set = read_questions(squad_settings(true, false), 1, files_);
    write_features(*set, "cache", 1, files_);
    const FeatureFiles paths = feature_files(*set, "cache", 1);
    write_text(files_, paths.records, "kept");
    write_features(*set, "cache", 1, files_);
    EXPECT_EQ(read_text(files_, paths.records), "kept");
    // A folder without room gets no half file.
    const FeatureFiles others = feature_files(*set, "other", 1);
    files_.set_capacity_bytes(files_.used_bytes() + 100);
    EXPECT_THROW(write_features(*set, "other", 1, files_), Error);
    EXPECT_FALSE(exists(files_, others.records));
}

TEST_F(Questions, AnswersOutOfPlaceAreLeftOut) {
    const auto set = read(file_with("the dog sat \xe2\x80\x8b on the mat",
                                    question("dog", 4, "1") + "," + question("cat", 4, "2") + "," +
                                        question("dog  sat", 4, "3") + "," + question("\xe2\x80\x8b", 12, "4") + "," +
                                        question("sat \xe2\x80\x8b", 8, "5") + "," + question(" ", 3, "6")));
    EXPECT_THAT(set->left_out, ElementsAre("2", "6", "4"));
    ASSERT_EQ(set->questions.size(), 3U);
    EXPECT_EQ(set->questions[2].id, "5");
    EXPECT_EQ(set->questions[2].first_token, 2);
    EXPECT_EQ(set->questions[2].last_token, 2);
    EXPECT_THAT(refusal(file_with("the dog", question("cat", 4))), AllOf(HasSubstr("t.json"), HasSubstr("1 ")));
}

TEST_F(Questions, OffsetsCountCharacters) {
    const auto set = read(file_with("\xc3\xa9\xe5\x8c\x97\\ud83d\\ude00 the dog", question("dog", 8)));
    EXPECT_EQ(set->questions.at(0).first_word, 2);
    // A byte order mark is no part of the JSON.
    EXPECT_EQ(read("\xef\xbb\xbf" + file_with("the dog", question("dog", 4)))->questions.at(0).first_word, 1);
}

TEST_F(Questions, SpecialTokensInTexts) {
    QuestionSettings settings = squad_settings(false, false);
    settings.file = "t.json";
    write_text(files_, "t.json", file_with("the [SEP] dog", question("dog", 10)));
    EXPECT_THAT(read_questions(settings, 1, files_)->questions.at(0).context->tokens, SizeIs(5));
    settings.splits_special_tokens = false;
    EXPECT_THAT(read_questions(settings, 1, files_)->questions.at(0).context->tokens, SizeIs(3));
}

TEST_F(Questions, Generated) {
    QuestionSettings settings = squad_settings(true, false);
    settings.generated = 3;
    settings.file = "";
    const auto set = read_questions(settings, 1);
    ASSERT_EQ(set->features.size(), 3U);
    EXPECT_EQ(set->questions[2].id, "100000002");
    EXPECT_EQ(set->questions[2].last_word, 1);
    EXPECT_EQ(question_features(set)->origin().recipe, "generated questions");
}

TEST_F(Questions, BadFilesAreRefused) {
    const std::string good = file_with("the dog sat", question("dog", 4));
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string text = good;
        text.replace(text.find(from), from.size(), to);
        return text;
    };
    EXPECT_THAT(read(good)->questions, SizeIs(1));
    EXPECT_THAT(refusal(good.substr(0, good.size() - 3)), AllOf(HasSubstr("t.json"), HasSubstr("line 1")));
    EXPECT_THAT(refusal(""), HasSubstr("t.json"));
    EXPECT_THAT(refusal("{\"data\": []}"), HasSubstr("found none"));
    EXPECT_THAT(refusal("[1]"), AllOf(HasSubstr("t.json"), HasSubstr("'data'"), HasSubstr("array")));
    EXPECT_THAT(refusal("{\"data\": [3]}"), AllOf(HasSubstr("data[0]"), HasSubstr("number")));
    EXPECT_THAT(refusal(with("dog sat", "\xff sat")), AllOf(HasSubstr("t.json:1"), HasSubstr("UTF-8")));
    EXPECT_THAT(refusal(with("the dog sat", "the \\ud800")), HasSubstr("t.json"));
    EXPECT_THAT(refusal(with("\"q1\"", "1")), AllOf(HasSubstr("qas[0]"), HasSubstr("'id'"), HasSubstr("number")));
    EXPECT_THAT(refusal(with("\"question\"", "\"x\"")), AllOf(HasSubstr("q1"), HasSubstr("'question'")));
    EXPECT_THAT(refusal(with("\"answers\"", "\"x\"")), AllOf(HasSubstr("q1"), HasSubstr("'answers'")));
    for (const char* start : {"-1", "9", "4000000000", "18446744073709551615", "-9223372036854775808"}) {
        EXPECT_THAT(refusal(with("start\": 4", std::string("start\": ") + start)),
                    AllOf(HasSubstr("q1"), HasSubstr(start), HasSubstr("11")));
    }
    EXPECT_THAT(refusal(with("start\": 4", "start\": 4.5")), AllOf(HasSubstr("q1"), HasSubstr("answer_start")));
    EXPECT_THAT(refusal(with("[{\"text\"", "[{\"text\": \"dog\", \"answer_start\": 4}, {\"text\"")),
                AllOf(HasSubstr("q1"), HasSubstr("found 2")));
    const std::string none = R"({"id": "q1", "question": "the", "answers": []})";
    EXPECT_THAT(refusal(file_with("the dog", none)), AllOf(HasSubstr("q1"), HasSubstr("found 0"), HasSubstr("2.0")));
    EXPECT_THAT(refusal(file_with("the dog", none), true, true), AllOf(HasSubstr("q1"), HasSubstr("found 0")));
    EXPECT_THAT(read(file_with("the dog", none), false)->questions, SizeIs(1));
    EXPECT_THAT(refusal(file_with("the dog", question("dog", 4) + "," + question("dog", 4))), HasSubstr("q1"));
}

TEST_F(Questions, SettingsThatCannotWork) {
    const auto refusal_of_settings = [&](std::int64_t QuestionSettings::*member, std::int64_t value) {
        QuestionSettings settings = squad_settings(true, false);
        settings.*member = value;
        return message_of(ErrorKind::usage, [&] { read_questions(settings, 1); });
    };
    EXPECT_THAT(refusal_of_settings(&QuestionSettings::doc_stride, 0), HasSubstr("--doc-stride is 0"));
    EXPECT_THAT(refusal_of_settings(&QuestionSettings::max_query_length, -1), HasSubstr("--max-query-length"));
    EXPECT_THAT(refusal_of_settings(&QuestionSettings::sequence_length, 9),
                AllOf(HasSubstr("a1"), HasSubstr(" 9 "), HasSubstr(" 6 ")));
    QuestionSettings settings = squad_settings(true, false);
    settings.vocabulary_size = 20;
    EXPECT_THAT(message_of(ErrorKind::data, [&] { read_questions(settings, 1); }), HasSubstr("--vocab-size"));
    settings.vocabulary_file = squad_file("golden.json");
    EXPECT_THAT(message_of(ErrorKind::data, [&] { read_questions(settings, 1); }), HasSubstr("tokenizer.json"));
}

}  // namespace
}  // namespace cnntrain::data
