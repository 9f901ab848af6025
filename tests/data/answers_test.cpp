#include <limits>

#include "cnntrain/data/questions.h"
#include "squad_golden.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::data {
namespace {

using nlohmann::json;

/// Logits of the golden predictions for one feature.
struct MadeLogits {
    std::vector<float> start;
    std::vector<float> end;

    MadeLogits(std::int64_t unique_id, std::int64_t length) {
        const auto logit = [](std::int64_t bits) { return static_cast<float>(bits % 64) / 4 - 8; };
        for (std::int64_t i = 0; i < length; ++i) {
            start.push_back(logit((unique_id * 1103515245 + 12345 * i + 7) >> 4));
            end.push_back(logit((unique_id * 69069 + 362437 * i + 3) >> 3));
        }
    }
    FeatureLogits view() const { return {start, end}; }
};

std::vector<Answer> made_answers(const QuestionSet& set, const AnswerSettings& settings) {
    std::vector<Answer> answers;
    for (const Question& question : set.questions) {
        std::vector<MadeLogits> made;
        for (std::size_t i = 0; i < question.features; ++i) {
            made.emplace_back(kFirstUniqueId + static_cast<std::int64_t>(question.first_feature + i),
                              set.settings.sequence_length);
        }
        std::vector<FeatureLogits> logits;
        for (const MadeLogits& one : made)
            logits.push_back(one.view());
        answers.push_back(answer_of(set, question, logits, settings));
    }
    return answers;
}

const AnswerSettings kMadeSettings = {.n_best = 5, .max_answer_length = 4, .null_threshold = 0};

void expect_near(const json& found, const json& expected) {
    ASSERT_EQ(found.is_number(), expected.is_number());
    if (expected.is_number()) {
        const auto value = expected.get<double>();
        EXPECT_NEAR(found.get<double>(), value, 1e-12 * std::abs(value));
    } else if (expected.is_structured()) {
        ASSERT_EQ(found.size(), expected.size()) << found;
        for (const auto& [key, value] : expected.items())
            expect_near(expected.is_array() ? found.at(std::stoul(key)) : found.at(key), value);
    } else {
        EXPECT_EQ(found, expected);
    }
}

TEST(Answers, ThoseOfTheReference) {
    for (const bool v2 : {false, true}) {
        const auto set = read_questions(squad_settings(false, v2), 1);
        const std::vector<Answer> answers = made_answers(*set, kMadeSettings);
        const std::string version = v2 ? "v2" : "v1";
        expect_near(json::parse(predictions_json(answers, v2)), squad_golden().at("predictions_" + version));
        expect_near(json::parse(best_predictions_json(answers)), squad_golden().at("nbest_" + version));
        if (v2) expect_near(json::parse(null_odds_json(answers)), squad_golden().at("null_odds_v2"));
    }
}

TEST(Answers, FilesAsPythonWritesThem) {
    Answer answer;
    answer.id = "\"1\"";
    answer.text = "Caf\xc3\xa9 \xf0\x9f\x98\x80";
    answer.n_best = {{answer.text, 1, -0.25, 1e-7}};
    answer.no_answer_probability = 3.774534084103162e-11;
    const std::vector<Answer> answers = {answer, {.id = "0", .text = "a", .n_best = {}, .null_odds = -2}};
    EXPECT_EQ(predictions_json(answers, false),
              "{\n    \"\\\"1\\\"\": \"Caf\\u00e9 \\ud83d\\ude00\",\n    \"0\": \"a\"\n}\n");
    EXPECT_EQ(predictions_json(std::span(answers).first(1), true),
              "{\n    \"\\\"1\\\"\": {\n        \"prediction_text\": \"Caf\\u00e9 \\ud83d\\ude00\",\n"
              "        \"no_answer_probability\": 3.774534084103162e-11\n    }\n}\n");
    EXPECT_EQ(best_predictions_json(answers),
              "{\n    \"\\\"1\\\"\": [\n        {\n            \"text\": \"Caf\\u00e9 \\ud83d\\ude00\",\n"
              "            \"probability\": 1.0,\n            \"start_logit\": -0.25,\n"
              "            \"end_logit\": 1e-07\n        }\n    ],\n    \"0\": []\n}\n");
    EXPECT_EQ(null_odds_json(answers), "{\n    \"\\\"1\\\"\": null,\n    \"0\": -2.0\n}\n");
}

TEST(Answers, OriginalTexts) {
    for (const json& row : squad_golden().at("final_text")) {
        EXPECT_EQ(original_text(row.at("pred").get<std::string>(), row.at("orig").get<std::string>(), true),
                  row.at("lower").get<std::string>());
        EXPECT_EQ(original_text(row.at("pred").get<std::string>(), row.at("orig").get<std::string>(), false),
                  row.at("cased").get<std::string>());
    }
    EXPECT_EQ(original_text("", "The cat", true), "The cat");
    EXPECT_EQ(original_text("a", "", true), "");
}

TEST(Answers, WithoutResultsAndWithoutWindows) {
    MemoryFiles files;
    write_text(files, "t.json",
               R"({"data": [{"paragraphs": [{"context": " ", "qas": [{"id": "q", "question": "the"}]}]}]})");
    for (const bool v2 : {false, true}) {
        QuestionSettings settings = squad_settings(false, v2);
        const auto whole = read_questions(settings, 1);
        const std::vector<FeatureLogits> nothing(whole->questions[0].features);
        const Answer unseen = answer_of(*whole, whole->questions[0], nothing, {});
        settings.file = "t.json";
        write_text(files, settings.vocabulary_file, read_file(settings.vocabulary_file));
        const auto set = read_questions(settings, 1, files);
        EXPECT_THAT(set->features, IsEmpty());
        const Answer answer = answer_of(*set, set->questions[0], {}, {});
        for (const Answer& one : {unseen, answer}) {
            EXPECT_EQ(one.text, v2 ? "" : "empty");
            ASSERT_THAT(one.n_best, SizeIs(1));
            EXPECT_EQ(one.n_best[0].probability, 1);
            EXPECT_EQ(one.no_answer_probability, v2 ? 1 : 0);
            EXPECT_FALSE(one.null_odds);
        }
    }
}

TEST(Answers, ThresholdOfNoAnswer) {
    const auto set = read_questions(squad_settings(false, true), 1);
    AnswerSettings settings = kMadeSettings;
    settings.null_threshold = -23.25;
    EXPECT_EQ(made_answers(*set, settings)[0].text, "cats walked to");
    settings.null_threshold = -23.5;
    EXPECT_EQ(made_answers(*set, settings)[0].text, "");
}

TEST(Answers, LogitsMustBeFinite) {
    const auto set = read_questions(squad_settings(false, false), 1);
    std::vector<MadeLogits> made(set->questions[0].features, MadeLogits(0, 32));
    made[1].end[3] = std::numeric_limits<float>::quiet_NaN();
    std::vector<FeatureLogits> logits;
    for (const MadeLogits& one : made)
        logits.push_back(one.view());
    EXPECT_THAT(message_of(ErrorKind::diverged, [&] { answer_of(*set, set->questions[0], logits, {}); }),
                HasSubstr("a1"));
}

TEST(Answers, ScoresOfTexts) {
    for (const json& row : squad_golden().at("normalise")) {
        const auto predicted = row.at("prediction").get<std::string>();
        const auto truth = row.at("truth").get<std::string>();
        EXPECT_EQ(normalised_answer(predicted), row.at("np").get<std::string>());
        EXPECT_EQ(normalised_answer(truth), row.at("nt").get<std::string>());
        EXPECT_EQ(exact_match(predicted, truth), row.at("em").get<double>()) << row;
        EXPECT_DOUBLE_EQ(word_f1(predicted, truth, false), row.at("f1").get<double>()) << row;
        EXPECT_DOUBLE_EQ(word_f1(predicted, truth, true), row.at("f1_v2").get<double>()) << row;
    }
    EXPECT_EQ(normalised_answer("an\xcc\x81 a_b the-a \xc3\xa9 an"), "\xcc\x81 ab thea \xc3\xa9");
}

std::map<std::string, Predicted> texts_of(const json& made) {
    std::map<std::string, Predicted> predictions;
    for (const auto& [id, text] : made.at("predictions").items())
        predictions[id].text = text;
    if (!made.contains("no_answer_probability")) return predictions;
    for (const auto& [id, probability] : made.at("no_answer_probability").items())
        predictions[id].no_answer_probability = probability;
    return predictions;
}

TEST(Answers, EvaluationOfVersion1) {
    const auto set = read_questions(squad_settings(false, false), 1);
    const json& made = squad_golden().at("evaluation_v1_made");
    const AnswerEvaluation found = evaluate_answers(*set, texts_of(made));
    EXPECT_DOUBLE_EQ(found.all.exact, made.at("result").at("exact_match"));
    EXPECT_DOUBLE_EQ(found.all.f1, made.at("result").at("f1"));
    EXPECT_EQ(found.all.total, 7);
    EXPECT_EQ(found.without_prediction, 0);
    json texts = {{"predictions", squad_golden().at("predictions_v1")}};
    EXPECT_DOUBLE_EQ(evaluate_answers(*set, texts_of(texts)).all.f1, squad_golden().at("evaluation_v1").at("f1"));
    texts.at("predictions").erase("a2");
    const AnswerEvaluation without = evaluate_answers(*set, texts_of(texts));
    EXPECT_DOUBLE_EQ(without.all.exact, squad_golden().at("evaluation_v1_without_a2").at("exact_match"));
    EXPECT_EQ(without.without_prediction, 1);
}

TEST(Answers, EvaluationOfVersion2) {
    const auto set = read_questions(squad_settings(false, true), 1);
    const json& made = squad_golden().at("evaluation_v2_made");
    for (const auto& [threshold, key] : {std::pair(1.0, "threshold_1"), std::pair(0.5, "threshold_half")}) {
        const json& expected = made.at(key);
        const AnswerEvaluation found = evaluate_answers(*set, texts_of(made), threshold);
        const auto expect_scores = [&](const AnswerScores& scores, const std::string& prefix) {
            EXPECT_DOUBLE_EQ(scores.exact, expected.at(prefix + "exact"));
            EXPECT_DOUBLE_EQ(scores.f1, expected.at(prefix + "f1"));
            EXPECT_EQ(scores.total, expected.at(prefix + "total"));
        };
        expect_scores(found.all, "");
        expect_scores(found.answerable.value(), "HasAns_");
        expect_scores(found.unanswerable.value(), "NoAns_");
        EXPECT_DOUBLE_EQ(found.best_exact, expected.at("best_exact"));
        EXPECT_DOUBLE_EQ(found.best_f1, expected.at("best_f1"));
        EXPECT_EQ(found.best_exact_threshold, expected.at("best_exact_thresh").get<double>());
        EXPECT_EQ(found.best_f1_threshold, expected.at("best_f1_thresh").get<double>());
    }
    // Above the threshold, an unanswerable question is right and an answerable one wrong.
    const AnswerEvaluation found = evaluate_answers(*set, texts_of(made), 0.0);
    EXPECT_EQ(found.answerable->exact, 0);
    EXPECT_EQ(found.unanswerable->f1, 100);
    const AnswerEvaluation nothing = evaluate_answers(*set, {});
    EXPECT_EQ(nothing.without_prediction, 7);
    EXPECT_EQ(nothing.answerable->exact, 0);
    EXPECT_EQ(nothing.unanswerable->exact, 100);
}

TEST(Answers, Version1NeedsTrueAnswers) {
    QuestionSettings settings = squad_settings(false, false);
    settings.file = squad_file("squad-v2.0.json");
    const auto set = read_questions(settings, 1);
    EXPECT_THAT(message_of(ErrorKind::data, [&] { evaluate_answers(*set, {}); }),
                AllOf(HasSubstr("a2"), HasSubstr("--version-2-with-negative")));
}

}  // namespace
}  // namespace cnntrain::data
