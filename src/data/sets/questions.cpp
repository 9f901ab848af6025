#include "cnntrain/data/questions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "data/records/example.h"
#include "data/text/table.h"
#include "data/text/tokeniser.h"
#include "data/threads.h"

namespace cnntrain::data {
namespace {

using nlohmann::json;

// ---- reading the JSON ----

[[noreturn]] void refuse_question(const std::string& where, const std::string& what) {
    throw Error(ErrorKind::data, where + ": " + what);
}

/// The member of an object of SQuAD's layout.
const json& squad_member(const json& object, const char* key, json::value_t type, const std::string& where) {
    const auto is_right = [&](const json& value) {
        return type == json::value_t::number_integer ? value.is_number_integer() : value.type() == type;
    };
    const auto found = object.find(key);  // the end if this is no object
    if (found != object.end() && is_right(*found)) return *found;
    const std::string other = found != object.end()
                                  ? found->type_name()
                                  : std::string("no such key in a value of type ") + object.type_name();
    refuse_question(where, std::string("expected the key '") + key + "' with a value of type " +
                               json(type).type_name() + ", found " + other +
                               "; SQuAD has data[].paragraphs[].{context, qas[].{id, question, answers[]}}");
}

bool separates_words(CodePoint value) {
    constexpr CodePoint kNarrowNoBreakSpace = 0x202f;
    return value == ' ' || value == '\t' || value == '\r' || value == '\n' || value == kNarrowNoBreakSpace;
}

class QuestionReader {
public:
    QuestionReader(const QuestionSettings& settings, QuestionSet& set) : settings_(settings), set_(set) {}

    void read(const json& document) {
        const json& articles = squad_member(document, "data", json::value_t::array, settings_.file);
        for (std::size_t i = 0; i < articles.size(); ++i) {
            const std::string where = settings_.file + ": data[" + std::to_string(i) + "]";
            const json& paragraphs = squad_member(articles[i], "paragraphs", json::value_t::array, where);
            for (std::size_t k = 0; k < paragraphs.size(); ++k)
                read_paragraph(paragraphs[k], where + ".paragraphs[" + std::to_string(k) + "]");
        }
        if (set_.questions.empty() && set_.left_out.empty())
            refuse_question(settings_.file, "expected questions, found none; is it a file of SQuAD?");
    }
    std::vector<std::shared_ptr<QuestionContext>>& contexts() { return contexts_; }

private:
    void read_paragraph(const json& paragraph, const std::string& where) {
        const json& text = squad_member(paragraph, "context", json::value_t::string, where);
        const json& questions = squad_member(paragraph, "qas", json::value_t::array, where);
        contexts_.push_back(std::make_shared<QuestionContext>());
        contexts_.back()->text = text.get<std::string>();
        split_words(*contexts_.back());
        for (std::size_t i = 0; i < questions.size(); ++i)
            read_question(questions[i], where + ".qas[" + std::to_string(i) + "]");
    }

    /// White space belongs to the word before it.
    void split_words(QuestionContext& context) {
        word_of_character_.clear();
        const std::string_view text = context.text;
        std::size_t begin = 0;
        bool inside = false;
        CodePoint value = 0;
        for (std::string_view rest = text; !rest.empty();) {
            const std::size_t at = text.size() - rest.size();
            take_code_point(rest, value);
            const bool separator = separates_words(value);
            if (!separator && !inside) begin = at;
            if (!separator && !inside) context.words.emplace_back();
            inside = !separator;
            if (inside) context.words.back() = text.substr(begin, text.size() - rest.size() - begin);
            word_of_character_.push_back(std::ssize(context.words) - 1);
        }
    }

    void read_question(const json& object, const std::string& where) {
        Question question;
        question.context = contexts_.back();
        question.id = squad_member(object, "id", json::value_t::string, where).get<std::string>();
        const std::string named = settings_.file + ": question " + printable(question.id);
        if (!ids_.insert(question.id).second)
            refuse_question(named, "expected an id of its own, found a second question with it; rename one");
        question.text = squad_member(object, "question", json::value_t::string, named).get<std::string>();
        if (settings_.v2 && object.contains("is_impossible")) {
            question.is_impossible = squad_member(object, "is_impossible", json::value_t::boolean, named).get<bool>();
        }
        if (settings_.training ? !question.is_impossible : object.contains("answers"))
            read_answers(squad_member(object, "answers", json::value_t::array, named), named, question);
        if (settings_.training && !question.is_impossible && question.first_word < 0) {
            set_.left_out.push_back(std::move(question.id));
        } else {
            set_.questions.push_back(std::move(question));
        }
    }

    void read_answers(const json& answers, const std::string& where, Question& question) const {
        for (const json& answer : answers)
            question.answers.push_back(squad_member(answer, "text", json::value_t::string, where).get<std::string>());
        if (!settings_.training) return;
        if (answers.size() != 1) {
            refuse_question(
                where, "expected one answer for the training, found " + std::to_string(answers.size()) +
                           (answers.empty() && !settings_.v2 ? "; SQuAD 2.0, whose questions may have none, needs "
                                                               "--version-2-with-negative"
                                                             : "; train with the file made for training, or keep one"));
        }
        const json& start = squad_member(answers[0], "answer_start", json::value_t::number_integer, where);
        const std::int64_t length = std::ssize(code_points(question.answers[0]));
        const std::size_t characters = word_of_character_.size();
        const bool is_beyond = start.is_number_unsigned() && start.get<std::uint64_t>() > characters;
        const std::int64_t at = is_beyond ? -1 : start.get<std::int64_t>();
        if (at < 0 || at + length > std::ssize(word_of_character_)) {
            refuse_question(where, "expected an answer_start that leaves the answer's " + std::to_string(length) +
                                       " characters within the context's " + std::to_string(characters) + ", found " +
                                       start.dump() + "; count characters, not bytes, from 0");
        }
        find_words(static_cast<std::size_t>(at), static_cast<std::size_t>(length), question);
    }

    /// Finds no words if the text there is not the answer.
    void find_words(std::size_t start, std::size_t length, Question& question) const {
        const std::string answer = collapsed(question.answers[0]);
        if (answer.empty()) return;
        const std::int64_t first = word_of_character_[start];
        const std::int64_t last = word_of_character_[start + length - 1];
        if (first < 0 || question.context->joined_words(static_cast<std::size_t>(first), static_cast<std::size_t>(last))
                                 .find(answer) == std::string::npos) {
            return;
        }
        question.first_word = first;
        question.last_word = last;
    }

    const QuestionSettings& settings_;
    QuestionSet& set_;
    std::vector<std::shared_ptr<QuestionContext>> contexts_;
    std::unordered_set<std::string> ids_;
    std::vector<std::int64_t> word_of_character_;  // of the last context; -1: before the first word
};

/// Questions with equal texts, for measurements.
std::vector<std::shared_ptr<QuestionContext>> generate_questions(QuestionSet& set) {
    constexpr std::int64_t kFirstId = 100'000'000;
    auto context = std::make_shared<QuestionContext>();
    context->text = "a token another token a third token";
    const std::string_view text = context->text;
    context->words = {text.substr(0, 7), text.substr(8, 13), text.substr(22)};
    Question question;
    question.text = "some question text";
    question.context = context;
    question.answers = {"a token another token"};
    if (set.settings.training) {
        question.first_word = 0;
        question.last_word = 1;
    }
    for (std::int64_t i = 0; i < set.settings.generated; ++i) {
        question.id = std::to_string(kFirstId + i);
        set.questions.push_back(question);
    }
    return {std::move(context)};
}

json parsed_squad(const QuestionSettings& settings, std::string_view bytes) {
    const std::string_view text = checked_utf8(bytes, settings.file);
    try {
        check_json(text);
    } catch (const Error& error) {
        throw Error(error.kind(), settings.file + ": " + error.what() + "; copy or download the file again");
    }
    return json::parse(text);
}

// ---- tokens and features ----

/// Each word is tokenised alone.
void add_tokens(const Vocabulary& vocabulary, const QuestionSettings& settings, QuestionContext& context) {
    Tokeniser tokeniser(vocabulary, settings.lower_case);
    for (std::size_t word = 0; word < context.words.size(); ++word) {
        context.first_token.push_back(static_cast<std::uint32_t>(context.tokens.size()));
        tokeniser.append(context.words[word], settings.splits_special_tokens, context.tokens);
        context.word_of.resize(context.tokens.size(), static_cast<std::uint32_t>(word));
    }
    context.first_token.push_back(static_cast<std::uint32_t>(context.tokens.size()));
}

/// Finds the answer's place among the tokens of the context, too.
void add_tokens(const Vocabulary& vocabulary, const QuestionSettings& settings, Question& question) {
    Tokeniser tokeniser(vocabulary, settings.lower_case);
    tokeniser.append(question.text, settings.splits_special_tokens, question.tokens);
    if (std::ssize(question.tokens) > settings.max_query_length)
        question.tokens.resize(static_cast<std::size_t>(settings.max_query_length));
    question.tokens.shrink_to_fit();
    if (question.first_word < 0) return;
    const QuestionContext& context = *question.context;
    const std::size_t begin = context.first_token[static_cast<std::size_t>(question.first_word)];
    const std::size_t end = context.first_token[static_cast<std::size_t>(question.last_word) + 1];
    if (begin == end) return;
    // The answer's own tokens, if they occur: the words may have more, such as a full stop.
    std::vector<TokenId> wanted;
    tokeniser.append(question.answers[0], settings.splits_special_tokens, wanted);
    const auto words = std::span(context.tokens).subspan(begin, end - begin);
    const auto found = std::search(words.begin(), words.end(), wanted.begin(), wanted.end());
    const bool improves = !wanted.empty() && found != words.end();
    question.first_token = static_cast<std::int64_t>(begin) + (improves ? found - words.begin() : 0);
    question.last_token = improves ? question.first_token + std::ssize(wanted) - 1 : static_cast<std::int64_t>(end) - 1;
}

void make_tokens(const Vocabulary& vocabulary, std::span<const std::shared_ptr<QuestionContext>> contexts, int threads,
                 QuestionSet& set) {
    for_each_index(threads, contexts.size(),
                   [&](std::size_t i) { add_tokens(vocabulary, set.settings, *contexts[i]); });
    for_each_index(threads, set.questions.size(),
                   [&](std::size_t i) { add_tokens(vocabulary, set.settings, set.questions[i]); });
    std::erase_if(set.questions, [&](Question& question) {
        if (question.first_word < 0 || question.first_token >= 0) return false;
        set.left_out.push_back(std::move(question.id));
        return true;
    });
    if (set.questions.empty()) {
        refuse_question(set.settings.file, "expected answers that stand where answer_start says, found none in " +
                                               std::to_string(set.left_out.size()) +
                                               " questions; answer_start counts characters from 0");
    }
}

void check_token_ids(const QuestionSet& set) {
    const auto limit = static_cast<std::uint64_t>(set.settings.vocabulary_size);
    for (const Question& question : set.questions) {
        for (const auto* ids : {&question.tokens, &question.context->tokens}) {
            const auto found = std::ranges::find_if(*ids, [&](TokenId id) { return id >= limit; });
            if (found == ids->end()) continue;
            refuse_question(set.settings.file + ": question " + printable(question.id),
                            "expected tokens below " + std::to_string(limit) + ", found " + std::to_string(*found) +
                                "; a model that takes it has --vocab-size " + std::to_string(*found + 1) + " or more");
        }
    }
}

void make_features(QuestionSet& set) {
    const QuestionSettings& settings = set.settings;
    for (std::size_t number = 0; number < set.questions.size(); ++number) {
        Question& question = set.questions[number];
        const std::int64_t room = settings.sequence_length - std::ssize(question.tokens) - 3;
        if (room < 1) {
            throw Error(ErrorKind::usage, settings.file + ": question " + printable(question.id) + ": a feature of " +
                                              std::to_string(settings.sequence_length) +
                                              " tokens has no room for a window behind " +
                                              std::to_string(question.tokens.size()) +
                                              " tokens of the question and three special ones; give a larger "
                                              "--seq-length or a smaller --max-query-length");
        }
        question.first_feature = set.features.size();
        const std::int64_t tokens = std::ssize(question.context->tokens);
        for (std::int64_t begin = 0; begin < tokens;) {
            const std::int64_t length = std::min(tokens - begin, room);
            set.features.push_back({static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(begin),
                                    static_cast<std::uint32_t>(length)});
            if (begin + length == tokens) break;
            begin += std::min(length, settings.doc_stride);
        }
        question.features = set.features.size() - question.first_feature;
    }
}

void check_question_settings(const QuestionSettings& settings) {
    const auto refuse = [](const std::string& what) { throw Error(ErrorKind::usage, what); };
    const auto check = [&](std::int64_t value, std::int64_t least, const std::string& option) {
        if (value < least)
            refuse(option + " is " + std::to_string(value) + ", not " + std::to_string(least) + " or more");
    };
    if (settings.file.empty() && settings.generated < 1)
        refuse("there is no file of questions; give --train-file or --predict-file");
    if (settings.vocabulary_file.empty()) refuse("texts are cut into the pieces of a vocabulary; give --vocab-file");
    check(settings.sequence_length, 4, "--seq-length");  // [CLS], two [SEP] and a token
    check(settings.doc_stride, 1, "--doc-stride");
    check(settings.max_query_length, 0, "--max-query-length");
}

// Numbers of the fields.
constexpr std::size_t kTokenIds = 0;
constexpr std::size_t kTokenSegments = 1;
constexpr std::size_t kTokenMask = 2;
constexpr std::size_t kPositions = 3;  // in training only

}  // namespace

std::string QuestionContext::joined_words(std::size_t first, std::size_t last) const {
    if (first > last) return {};
    return joined(std::span(words).subspan(first, last - first + 1), " ", [](std::string_view word) { return word; });
}

std::vector<std::size_t> QuestionSet::max_context(const Question& question) const {
    const std::size_t tokens = question.context->tokens.size();
    std::vector<std::size_t> best(tokens, question.first_feature);
    std::vector<double> scores(tokens, -1);
    for (std::size_t i = question.first_feature; i < question.first_feature + question.features; ++i) {
        const QuestionFeature& window = features[i];
        for (std::size_t left = 0; left < window.length; ++left) {
            const std::size_t right = window.length - 1 - left;
            const double score = static_cast<double>(std::min(left, right)) + 0.01 * window.length;
            const std::size_t token = window.begin + left;
            if (score <= scores[token]) continue;
            scores[token] = score;
            best[token] = i;
        }
    }
    return best;
}

void QuestionSet::store(std::size_t number, SampleView out) const {
    const QuestionFeature& feature = features[number];
    const Question& question = questions[feature.question];
    const std::size_t window = window_position(feature);
    const std::size_t end = window + feature.length + 1;
    for (const std::span<std::byte> field : out)
        std::ranges::fill(values_in<std::int32_t>(field), 0);
    const std::span<std::int32_t> ids = values_in<std::int32_t>(out[kTokenIds]);
    ids[0] = static_cast<std::int32_t>(beginning);
    std::ranges::copy(question.tokens, ids.begin() + 1);
    ids[window - 1] = static_cast<std::int32_t>(separator);
    std::ranges::copy(std::span(question.context->tokens).subspan(feature.begin, feature.length),
                      ids.subspan(window).begin());
    ids[end - 1] = static_cast<std::int32_t>(separator);
    std::ranges::fill(values_in<std::int32_t>(out[kTokenSegments]).subspan(window, end - window), 1);
    std::ranges::fill(values_in<std::int32_t>(out[kTokenMask]).first(end), 1);
    if (!settings.training || question.first_token < feature.begin ||
        question.last_token >= std::int64_t{feature.begin} + feature.length) {
        return;
    }
    const auto offset = static_cast<std::int64_t>(window) - feature.begin;
    values_in<std::int32_t>(out[kPositions])[0] = static_cast<std::int32_t>(question.first_token + offset);
    values_in<std::int32_t>(out[kPositions])[1] = static_cast<std::int32_t>(question.last_token + offset);
}

void QuestionSet::store_padding(SampleView out) {
    for (std::size_t field = 0; field < out.size(); ++field)
        std::ranges::fill(values_in<std::int32_t>(out[field]), field < kPositions ? 0 : kNoPosition);
    values_in<std::int32_t>(out[kTokenMask])[0] = 1;  // attention over no tokens is undefined
}

std::shared_ptr<const QuestionSet> read_questions(const QuestionSettings& settings, int threads,
                                                  const FileSystem& files) {
    check_question_settings(settings);
    const Vocabulary vocabulary = Vocabulary::read(files, settings.vocabulary_file);
    auto set = std::make_shared<QuestionSet>();
    set->settings = settings;
    set->beginning = vocabulary.special_tokens().beginning;
    set->separator = vocabulary.special_tokens().separator;
    set->pieces = vocabulary.pieces();
    std::vector<std::shared_ptr<QuestionContext>> contexts;
    if (settings.generated > 0) {
        contexts = generate_questions(*set);
    } else {
        QuestionReader reader(settings, *set);
        reader.read(parsed_squad(settings, read_text(files, settings.file)));
        contexts = std::move(reader.contexts());
    }
    make_tokens(vocabulary, contexts, threads, *set);
    if (vocabulary.size() > settings.vocabulary_size) check_token_ids(*set);
    make_features(*set);
    if (settings.generated < 1) set->parts = {part_of_file(files, settings.file, std::ssize(set->features))};
    set->parts.push_back(part_of_file(files, settings.vocabulary_file, 0));
    return set;
}

}  // namespace cnntrain::data
