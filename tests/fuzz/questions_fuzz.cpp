// Files of questions: never a crash, and every feature of an accepted file has tokens, segments and positions in their
// ranges. The first byte says what the rest is: 't' and 'u' a training with SQuAD 1.1 and 2.0, 'p' a prediction, whose
// answers are evaluated too.
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/data/questions.h"
#include "fuzz/fuzz_target.h"

namespace cnntrain::fuzz {
namespace {

constexpr std::string_view kVocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##a\ncat\n##s\n,\n\"\n";
constexpr std::int32_t kWords = 11;
constexpr std::size_t kLength = 8;

void check_feature(const data::QuestionSet& set, std::size_t feature) {
    std::array<std::array<std::int32_t, kLength>, 3> tokens{};
    std::array<std::int32_t, 2> positions{};
    const std::array<std::span<std::byte>, 4> all = {
        std::as_writable_bytes(std::span(tokens[0])), std::as_writable_bytes(std::span(tokens[1])),
        std::as_writable_bytes(std::span(tokens[2])), std::as_writable_bytes(std::span(positions))};
    set.store(feature, std::span(all).first(set.settings.training ? 4 : 3));
    require(tokens[2][0] == 1 && tokens[2][3] == 1);
    for (std::size_t i = 0; i < kLength; ++i) {
        require(tokens[0][i] >= 0 && tokens[0][i] < kWords && tokens[1][i] >= 0 && tokens[1][i] <= 1);
        require(tokens[2][i] == 1 || (tokens[0][i] == 0 && tokens[1][i] == 0 && tokens[2][i] == 0));
    }
    require(positions[0] >= 0 && positions[0] <= positions[1] && positions[1] < static_cast<std::int32_t>(kLength));
    require(tokens[1][static_cast<std::size_t>(positions[0])] == (positions[0] == 0 ? 0 : 1));
}

void check_answers(const data::QuestionSet& set) {
    constexpr std::array<float, kLength> kStart = {0, 1, 2, 3, 4, 3, 2, 1};
    constexpr std::array<float, kLength> kEnd = {1, 0, 1, 3, 3, 5, 4, 1};
    std::vector<data::Answer> answers;
    std::map<std::string, data::Predicted> predictions;
    for (const data::Question& question : set.questions) {
        const std::vector<data::FeatureLogits> logits(question.features, {kStart, kEnd});
        answers.push_back(data::answer_of(set, question, logits, {}));
        predictions[question.id] = {answers.back().text, answers.back().no_answer_probability};
    }
    require(data::predictions_json(answers, true).ends_with("}\n"));
    require(data::best_predictions_json(answers).ends_with("}\n") && data::null_odds_json(answers).ends_with("}\n"));
    const data::AnswerEvaluation found = data::evaluate_answers(set, predictions);
    require(found.all.exact >= 0 && found.all.f1 <= 100.001 && found.without_prediction == 0);
}

void check_file(char kind, std::string_view text) {
    static MemoryFiles files;
    data::QuestionSettings settings;
    settings.file = "q.json";
    settings.vocabulary_file = "v.txt";
    settings.sequence_length = kLength;
    settings.doc_stride = 2;
    settings.max_query_length = 3;
    settings.training = kind != 'p';
    settings.v2 = kind != 't';
    settings.vocabulary_size = kWords;
    write_text(files, "v.txt", kVocabulary);
    write_text(files, "q.json", text);
    const auto set = data::read_questions(settings, 1, files);
    require(!set->questions.empty());
    for (std::size_t i = 0; i < set->features.size(); ++i)
        check_feature(*set, i);
    if (!settings.training) check_answers(*set);
}

/// A file of one context.
std::string file_of(const std::string& context, const std::string& rest) {
    return R"({"data":[{"paragraphs":[{"context":")" + context + R"(","qas":[{"id":"1","question":"a?",)" + rest +
           "}]}]}]}";
}

}  // namespace

std::vector<std::string> seeds() {
    const std::string cat = R"("answers":[{"text":"cat","answer_start":2}])";
    return {"t" + file_of("a cats, a cat a a", cat),
            "t" + file_of("\xc3\xa9 cat\\u202fs", cat),
            "u" + file_of("a", R"("is_impossible":true,"answers":[])"),
            "u" + file_of("a cat", R"("is_impossible":false,)" + cat),
            "p" + file_of("A Cat\\u200b, \\\"CATS\\\" a a a a", cat),
            "p" + file_of("", R"("x":1)")};
}

std::vector<std::string> words() {
    return {"{",
            "}",
            "[",
            "]",
            ",",
            "\"answers\"",
            "\"text\"",
            "\"answer_start\":",
            "\"id\":",
            "\\u200b",
            "\\u0000",
            "\\ud83d\\ude00",
            "\\n",
            "-1",
            "99999999999999999999",
            "\xff",
            "true",
            "the ",
            "a cat "};
}

}  // namespace cnntrain::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace cnntrain;
    if (size == 0) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    fuzz::accepted([&] { fuzz::check_file(static_cast<char>(data[0]), text); });
    return 0;
}
