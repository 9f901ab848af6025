#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/questions.h"
#include "data/text/tokeniser.h"

namespace cnntrain::data {
namespace {

// ---- the n best answers ----

/// A span of a feature's tokens.
struct Candidate {
    std::size_t feature = 0;
    std::size_t first = 0;  // positions in the feature; 0: no answer
    std::size_t last = 0;
    double start_logit = 0;
    double end_logit = 0;

    double score() const { return start_logit + end_logit; }
};

/// Positions of the greatest logits; equal ones in the order of the positions.
std::vector<std::size_t> greatest(std::span<const float> logits, std::int64_t count) {
    std::vector<std::size_t> order(logits.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto kept = std::min(order.size(), static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
    std::partial_sort(
        order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
        [&](std::size_t a, std::size_t b) { return std::pair(-logits[a], a) < std::pair(-logits[b], b); });
    order.resize(kept);
    return order;
}

void append_candidates(const QuestionSet& set, const Question& question, std::size_t feature,
                       std::span<const std::size_t> max_context, const FeatureLogits& logits,
                       const AnswerSettings& settings, std::vector<Candidate>& candidates) {
    const QuestionFeature& window = set.features[feature];
    const std::size_t begin = set.window_position(window);
    const auto is_inside = [&](std::size_t position) { return position >= begin && position < begin + window.length; };
    const std::vector<std::size_t> ends = greatest(logits.end, settings.n_best);
    for (const std::size_t first : greatest(logits.start, settings.n_best)) {
        if (!is_inside(first) || max_context[window.begin + first - begin] != feature) continue;
        for (const std::size_t last : ends) {
            if (!is_inside(last) || last < first) continue;
            if (static_cast<std::int64_t>(last - first) >= settings.max_answer_length) continue;
            candidates.push_back({feature - question.first_feature, first, last,
                                  static_cast<double>(logits.start[first]), static_cast<double>(logits.end[last])});
        }
    }
}

void check_logits(const QuestionSet& set, const Question& question, const FeatureLogits& logits) {
    const auto length = static_cast<std::size_t>(set.settings.sequence_length);
    CNNTRAIN_CHECK(logits.start.size() == length && logits.end.size() == length, "logits of another length");
    for (const std::span<const float> values : {logits.start, logits.end}) {
        if (std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) continue;
        throw Error(ErrorKind::diverged, set.settings.file + ": question " + printable(question.id) +
                                             ": expected finite logits, found others; the network has diverged, or "
                                             "needs a wider floating-point type");
    }
}

/// The best first. SQuAD 2.0: `null` is the candidate of no answer, which is among them.
std::vector<Candidate> ranked_candidates(const QuestionSet& set, const Question& question,
                                         std::span<const FeatureLogits> logits, const AnswerSettings& settings,
                                         Candidate& null) {
    const std::vector<std::size_t> max_context = set.max_context(question);
    std::vector<Candidate> candidates;
    std::optional<Candidate> least;
    for (std::size_t i = 0; i < question.features; ++i) {
        if (logits[i].start.empty()) continue;
        check_logits(set, question, logits[i]);
        append_candidates(set, question, question.first_feature + i, max_context, logits[i], settings, candidates);
        const Candidate none{i, 0, 0, static_cast<double>(logits[i].start[0]), static_cast<double>(logits[i].end[0])};
        if (!least || none.score() < least->score()) least = none;
    }
    null = least.value_or(Candidate{});
    if (set.settings.v2) candidates.push_back(null);
    std::ranges::stable_sort(candidates, std::greater<>(), &Candidate::score);
    return candidates;
}

void remove_all(std::string_view part, std::string& text) {
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at))
        text.erase(at, part.size());
}

/// A span's text in the context.
std::string text_of(const QuestionSet& set, const Question& question, const Candidate& candidate) {
    const QuestionFeature& window = set.features[question.first_feature + candidate.feature];
    const QuestionContext& context = *question.context;
    const std::size_t first = window.begin + candidate.first - set.window_position(window);
    const std::size_t count = candidate.last - candidate.first + 1;
    std::string predicted = joined(std::span(context.tokens).subspan(first, count), " ",
                                   [&](TokenId id) { return std::string_view(set.pieces[id]); });
    remove_all(" ##", predicted);
    remove_all("##", predicted);
    return original_text(collapsed(predicted),
                         context.joined_words(context.word_of[first], context.word_of[first + count - 1]),
                         set.settings.lower_case);
}

/// Softmax of the scores.
void set_probabilities(std::vector<RankedAnswer>& answers) {
    const auto score = [](const RankedAnswer& answer) { return answer.start_logit + answer.end_logit; };
    const double most = score(*std::ranges::max_element(answers, {}, score));
    double sum = 0;
    for (RankedAnswer& answer : answers)
        sum += answer.probability = std::exp(score(answer) - most);
    for (RankedAnswer& answer : answers)
        answer.probability /= sum;
}

// ---- the original text ----

/// Places of the characters other than blanks.
std::vector<std::size_t> places_of_letters(std::span<const CodePoint> text) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != ' ') places.push_back(i);
    }
    return places;
}

}  // namespace

std::string original_text(std::string_view predicted, std::string_view original, bool lower_case) {
    const std::vector<CodePoint> wanted = code_points(predicted);
    const std::vector<CodePoint> words = code_points(basic_words(original, lower_case));
    const std::vector<CodePoint> characters = code_points(original);
    const auto found = std::search(words.begin(), words.end(), wanted.begin(), wanted.end());
    if (wanted.empty() || found == words.end()) return std::string(original);
    const std::vector<std::size_t> in_words = places_of_letters(words);
    const std::vector<std::size_t> in_original = places_of_letters(characters);
    const auto number = [&](auto at) {  // among the letters; their count for a blank
        return static_cast<std::size_t>(std::ranges::find(in_words, static_cast<std::size_t>(at - words.begin())) -
                                        in_words.begin());
    };
    const std::size_t first = number(found);
    const std::size_t last = number(found + std::ssize(wanted) - 1);
    const std::size_t count = in_original.size();
    if (in_words.size() != count || first >= count || last >= count) return std::string(original);
    return utf8(std::span(characters).subspan(in_original[first], in_original[last] + 1 - in_original[first]));
}

Answer answer_of(const QuestionSet& set, const Question& question, std::span<const FeatureLogits> logits,
                 const AnswerSettings& settings) {
    CNNTRAIN_CHECK(logits.size() == question.features, "logits of another number of features");
    Answer answer;
    answer.id = question.id;
    Candidate null;
    std::unordered_set<std::string> kept;
    for (const Candidate& candidate : ranked_candidates(set, question, logits, settings, null)) {
        if (std::ssize(answer.n_best) >= settings.n_best) break;
        std::string text = candidate.first == 0 ? "" : text_of(set, question, candidate);
        if (!kept.insert(text).second) continue;
        answer.n_best.push_back({std::move(text), 0, candidate.start_logit, candidate.end_logit});
    }
    const bool v2 = set.settings.v2;
    if (v2 && !kept.contains("")) answer.n_best.push_back({"", 0, null.start_logit, null.end_logit});
    if (answer.n_best.empty()) answer.n_best.push_back({"empty"});
    set_probabilities(answer.n_best);
    if (!v2) {
        answer.text = answer.n_best.front().text;
        return answer;
    }
    const auto is_empty = [](const RankedAnswer& ranked) { return ranked.text.empty(); };
    answer.no_answer_probability = std::ranges::find_if(answer.n_best, is_empty)->probability;
    const auto best = std::ranges::find_if_not(answer.n_best, is_empty);
    if (best == answer.n_best.end()) return answer;
    answer.null_odds = null.score() - best->start_logit - best->end_logit;
    if (*answer.null_odds <= settings.null_threshold) answer.text = best->text;
    return answer;
}

// ---- files ----

namespace {

using nlohmann::ordered_json;

/// An object with a value for each question, as Python's json.dump(indent=4) writes it.
std::string answers_json(std::span<const Answer> answers, auto&& value_of) {
    ordered_json::object_t object;
    for (const Answer& answer : answers)
        object.push_back({answer.id, value_of(answer)});
    return ordered_json(std::move(object)).dump(4, ' ', true) + "\n";
}

}  // namespace

std::string predictions_json(std::span<const Answer> answers, bool v2) {
    return answers_json(answers, [&](const Answer& answer) -> ordered_json {
        if (!v2) return answer.text;
        return {{"prediction_text", answer.text}, {"no_answer_probability", answer.no_answer_probability}};
    });
}

std::string best_predictions_json(std::span<const Answer> answers) {
    return answers_json(answers, [](const Answer& answer) {
        ordered_json list = ordered_json::array();
        for (const RankedAnswer& ranked : answer.n_best) {
            list.push_back({{"text", ranked.text},
                            {"probability", ranked.probability},
                            {"start_logit", ranked.start_logit},
                            {"end_logit", ranked.end_logit}});
        }
        return list;
    });
}

std::string null_odds_json(std::span<const Answer> answers) {
    return answers_json(answers, [](const Answer& answer) -> ordered_json {
        return answer.null_odds ? ordered_json(*answer.null_odds) : ordered_json();
    });
}

// ---- evaluation ----

std::string normalised_answer(std::string_view text) {
    std::vector<CodePoint> characters = code_points(text);
    std::vector<CodePoint> scratch;
    make_lower_case(characters, scratch);
    std::erase_if(characters,
                  [](CodePoint value) { return value < 0x80 && class_of(value) == CharacterClass::punctuation; });
    std::string result;
    for (auto at = characters.cbegin(); at != characters.cend();) {
        const auto end = std::find_if_not(at, characters.cend(), is_alphanumeric);
        const std::string word = utf8({at, end});
        result += word == "a" || word == "an" || word == "the" ? " " : word;
        at = end;
        if (at != characters.cend()) append_utf8(*at++, result);
    }
    return collapsed(result);
}

double exact_match(std::string_view predicted, std::string_view truth) {
    return normalised_answer(predicted) == normalised_answer(truth) ? 1 : 0;
}

namespace {

/// The words of a normalised text, sorted.
std::vector<std::string_view> sorted_words(std::string_view text) {
    std::vector<std::string_view> words;
    while (!text.empty()) {
        words.push_back(text.substr(0, text.find(' ')));
        text.remove_prefix(std::min(words.back().size() + 1, text.size()));
    }
    std::ranges::sort(words);
    return words;
}

/// The greatest over the true answers.
AnswerScores scores_of(const QuestionSet& set, const Question& question, std::string_view predicted) {
    std::vector<std::string> truths = question.answers;
    if (set.settings.v2) {
        std::erase_if(truths, [](const std::string& truth) { return normalised_answer(truth).empty(); });
        if (truths.empty()) truths.emplace_back();
    }
    if (truths.empty()) {
        throw Error(ErrorKind::data, set.settings.file + ": question " + printable(question.id) +
                                         ": expected a true answer to evaluate against, found none; SQuAD 2.0 needs "
                                         "--version-2-with-negative, and a test set has no answers");
    }
    AnswerScores best;
    for (const std::string& truth : truths) {
        best.exact = std::max(best.exact, exact_match(predicted, truth));
        best.f1 = std::max(best.f1, word_f1(predicted, truth, set.settings.v2));
    }
    return best;
}

/// Scores and probability of no answer of one question.
struct Evaluated {
    AnswerScores raw;  // 0..1, without the threshold
    bool answerable = true;
    bool has_text = false;
    double no_answer_probability = 0;
};

/// `chosen`: true for the questions that count. Nothing if there are none.
std::optional<AnswerScores> mean_scores(std::span<const Evaluated> all, double threshold, auto&& chosen) {
    AnswerScores sum;
    for (const Evaluated& question : all) {
        if (!chosen(question)) continue;
        const bool unanswered = question.no_answer_probability > threshold;
        const double if_unanswered = question.answerable ? 0 : 1;
        sum.exact += unanswered ? if_unanswered : question.raw.exact;
        sum.f1 += unanswered ? if_unanswered : question.raw.f1;
        ++sum.total;
    }
    if (sum.total == 0) return std::nullopt;
    const auto total = static_cast<double>(sum.total);
    return AnswerScores{100 * sum.exact / total, 100 * sum.f1 / total, sum.total};
}

/// The best score in percent and its threshold. `all`: in ascending order of the probability of no answer.
std::pair<double, double> best_threshold(std::span<const Evaluated> all, double AnswerScores::*score) {
    auto sum = static_cast<double>(std::ranges::count(all, false, &Evaluated::answerable));
    double best = sum;
    double threshold = 0;
    for (const Evaluated& question : all) {
        sum += question.answerable ? question.raw.*score : question.has_text ? -1 : 0;
        if (sum <= best) continue;
        best = sum;
        threshold = question.no_answer_probability;
    }
    return {100 * best / static_cast<double>(all.size()), threshold};
}

}  // namespace

double word_f1(std::string_view predicted, std::string_view truth, bool v2) {
    const std::string found_text = normalised_answer(predicted);
    const std::string true_text = normalised_answer(truth);
    const std::vector<std::string_view> found = sorted_words(found_text);
    const std::vector<std::string_view> wanted = sorted_words(true_text);
    if (found.empty() || wanted.empty()) return v2 && found.size() == wanted.size() ? 1 : 0;
    std::vector<std::string_view> common;
    std::ranges::set_intersection(found, wanted, std::back_inserter(common));
    if (common.empty()) return 0;
    const double precision = static_cast<double>(common.size()) / static_cast<double>(found.size());
    const double recall = static_cast<double>(common.size()) / static_cast<double>(wanted.size());
    return 2 * precision * recall / (precision + recall);
}

AnswerEvaluation evaluate_answers(const QuestionSet& set, const std::map<std::string, Predicted>& predictions,
                                  double threshold) {
    const bool v2 = set.settings.v2;
    AnswerEvaluation result;
    std::vector<Evaluated> all;
    for (const Question& question : set.questions) {
        const auto found = predictions.find(question.id);
        const bool is_predicted = found != predictions.end();
        const Predicted predicted = is_predicted ? found->second : Predicted{"", 1};
        if (!is_predicted) ++result.without_prediction;
        all.push_back({scores_of(set, question, predicted.text), !question.answers.empty(), !predicted.text.empty(),
                       predicted.no_answer_probability});
        if (!is_predicted && !v2) all.back().raw = {};
    }
    const double limit = v2 ? threshold : 1;
    result.all = mean_scores(all, limit, [](const Evaluated&) { return true; }).value_or(AnswerScores{});
    if (!v2 || all.empty()) return result;
    result.answerable = mean_scores(all, limit, [](const Evaluated& question) { return question.answerable; });
    result.unanswerable = mean_scores(all, limit, [](const Evaluated& question) { return !question.answerable; });
    std::ranges::stable_sort(all, {}, &Evaluated::no_answer_probability);
    std::tie(result.best_exact, result.best_exact_threshold) = best_threshold(all, &AnswerScores::exact);
    std::tie(result.best_f1, result.best_f1_threshold) = best_threshold(all, &AnswerScores::f1);
    return result;
}

}  // namespace cnntrain::data
