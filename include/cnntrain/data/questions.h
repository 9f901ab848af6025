// Questions on texts, whose answers are parts of the texts (SQuAD 1.1 and 2.0): reading them, cutting their contexts
// into windows, finding the answers from a network's logits, and evaluating them.
//
// A feature is a question with one window of its context. S: number of tokens in a feature. Fields of one sample, which
// is a feature, in this order:
//
//   name              type    values
//   input_ids         i32[S]  [CLS] question [SEP] window [SEP]; then 0
//   segment_ids       i32[S]  1 for the window and its [SEP], else 0
//   input_mask        i32[S]  1: a token, 0: padding
//   answer_positions  i32[2]  training only: the answer's first and last token, 0..S-1; 0 if the window lacks a part of
//                             the answer or there is none; kNoPosition: padding
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/dataset.h"

namespace cnntrain::data {

struct QuestionSettings {
    std::string file = {};             // JSON of SQuAD
    std::int64_t generated = 0;        // number of made-up questions, which replace the file; 0: none
    std::string vocabulary_file = {};  // of the WordPiece tokeniser: a piece a line, or a tokenizer.json
    bool lower_case = true;            // also strips accents
    /// True: [SEP] and other special tokens in a text are divided as its words are. False: each is one token.
    bool splits_special_tokens = true;
    std::int64_t sequence_length = 384;  // S
    std::int64_t doc_stride = 128;       // tokens from the start of a window to that of the next one
    std::int64_t max_query_length = 64;  // tokens kept of a question
    bool training = false;               // one answer is needed for each question that has any
    bool v2 = false;                     // SQuAD 2.0: questions may have no answer
    /// Upper limit of token ids (exclusive): rows of the model's embedding.
    std::int64_t vocabulary_size = 30522;
};

/// A text, shared by the questions on it.
struct QuestionContext {
    std::string text;                        // UTF-8
    std::vector<std::string_view> words;     // parts of `text`
    std::vector<std::uint32_t> tokens;       // ids
    std::vector<std::uint32_t> word_of;      // for each token
    std::vector<std::uint32_t> first_token;  // for each word; then the number of tokens

    QuestionContext() = default;
    QuestionContext(const QuestionContext&) = delete;
    QuestionContext& operator=(const QuestionContext&) = delete;

    /// These words with a blank between two of them.
    std::string joined_words(std::size_t first, std::size_t last) const;
};

struct Question {
    std::string id;
    std::string text;
    std::shared_ptr<const QuestionContext> context;
    std::vector<std::string> answers;   // all true ones; none if it is impossible or the file has none
    bool is_impossible = false;         // SQuAD 2.0
    std::int64_t first_word = -1;       // of the answer, in training; -1: there is none
    std::int64_t last_word = -1;        // inclusive, as the following
    std::int64_t first_token = -1;      // of the answer, in the context
    std::int64_t last_token = -1;       //
    std::vector<std::uint32_t> tokens;  // ids, at most max_query_length
    std::size_t first_feature = 0;      // its features are consecutive
    std::size_t features = 0;           // 0: the context has no tokens
};

struct QuestionFeature {
    std::uint32_t question = 0;
    std::uint32_t begin = 0;   // of the window, in tokens of the context
    std::uint32_t length = 0;  // of the window
};

/// The unique id of feature 0 in the records; the following ones count on.
inline constexpr std::int64_t kFirstUniqueId = 1'000'000'000;
/// The positions of padding samples.
inline constexpr std::int32_t kNoPosition = -1;
inline constexpr std::string_view kAnswerPositions = "answer_positions";

struct QuestionSet {
    QuestionSettings settings;
    std::vector<Question> questions;        // in file order
    std::vector<QuestionFeature> features;  // in the order of the questions
    /// Ids of the questions that a training cannot use, because the text at the answer's place is another one or has no
    /// tokens. They are not among `questions`.
    std::vector<std::string> left_out;
    std::vector<std::string> pieces;  // texts of the tokens by id
    std::uint32_t beginning = 0;      // id of [CLS]
    std::uint32_t separator = 0;      // id of [SEP]
    std::vector<OriginPart> parts;    // the files that were read

    /// Position of the window's first token in a feature.
    std::size_t window_position(const QuestionFeature& feature) const {
        return questions[feature.question].tokens.size() + 2;
    }
    /// For each token of the question's context, the feature in which it has the most context on both sides.
    std::vector<std::size_t> max_context(const Question& question) const;
    /// Writes the fields listed above.
    void store(std::size_t feature, SampleView out) const;
    static void store_padding(SampleView out);
};

/// Reads the questions and makes their features with `threads` threads. Throws Error(usage) for impossible settings,
/// and, with the question's id, if its tokens leave no room for a window. Error(data) names the file and the question:
/// for anything that does not follow SQuAD's layout, ids that occur twice, and a file without questions; in training
/// also for a question without answers or with several, and for an answer beyond the end of the context.
std::shared_ptr<const QuestionSet> read_questions(const QuestionSettings& settings, int threads,
                                                  const FileSystem& files = posix_files());

/// The features as samples.
std::shared_ptr<const Dataset> question_features(std::shared_ptr<const QuestionSet> set);

/// The features as TFRecords for other programs: "FOLDER/384_128_64_SQuAD11-DIGEST_train.tfrecord", or with the
/// padding's multiple "FOLDER/384_128_64_8_SQuAD11-DIGEST_eval.tfrecord". DIGEST stands for the JSON, the vocabulary
/// and the casing.
struct FeatureFiles {
    std::string records;
    std::string metadata;  // text file with the number of features without padding
};
FeatureFiles feature_files(const QuestionSet& set, const std::string& folder, std::int64_t padding_to);
/// Writes them unless they are there. Those of a prediction end with padding records up to a multiple of `padding_to`.
void write_features(const QuestionSet& set, const std::string& folder, std::int64_t padding_to,
                    FileSystem& files = posix_files());

// Answers. All arithmetic is in double precision.

struct AnswerSettings {
    std::int64_t n_best = 20;             // answers kept for each question
    std::int64_t max_answer_length = 30;  // in tokens
    double null_threshold = 0;            // SQuAD 2.0: no answer if the null odds are greater
};

/// Logits of one feature for the answer's first and last token, each [S]. Empty: the network has not seen the feature.
struct FeatureLogits {
    std::span<const float> start;
    std::span<const float> end;
};

struct RankedAnswer {
    std::string text;  // "": no answer
    double probability = 0;
    double start_logit = 0;
    double end_logit = 0;
};

struct Answer {
    std::string id;                    // of the question
    std::string text;                  // "": there is no answer
    std::vector<RankedAnswer> n_best;  // the best first
    // SQuAD 2.0 only:
    double no_answer_probability = 0;
    std::optional<double> null_odds;  // score of no answer less that of the best answer; none: there is no such answer
};

/// The answer from the logits of the question's features, in their order. Throws Error(diverged), with the question's
/// id, if a logit is not finite.
Answer answer_of(const QuestionSet& set, const Question& question, std::span<const FeatureLogits> logits,
                 const AnswerSettings& settings);

/// The part of `original` that gave the tokens of `predicted`; all of it if that part is not found.
std::string original_text(std::string_view predicted, std::string_view original, bool lower_case);

// Files of a prediction: JSON with an object of the questions' ids.

std::string predictions_json(std::span<const Answer> answers, bool v2);
std::string best_predictions_json(std::span<const Answer> answers);
std::string null_odds_json(std::span<const Answer> answers);  // SQuAD 2.0; null: there is no answer at all

// Evaluation against the true answers.

/// Lower case, without ASCII punctuation, articles and superfluous white space.
std::string normalised_answer(std::string_view text);
/// 1 if the normalised texts are equal, else 0.
double exact_match(std::string_view predicted, std::string_view truth);
/// Harmonic mean of precision and recall of the words, 0..1. Two texts without words: 1 in SQuAD 2.0, else 0.
double word_f1(std::string_view predicted, std::string_view truth, bool v2);

struct Predicted {
    std::string text;
    double no_answer_probability = 0;  // SQuAD 2.0 only
};

struct AnswerScores {
    double exact = 0;  // percent, as all scores
    double f1 = 0;
    std::int64_t total = 0;  // questions
};

struct AnswerEvaluation {
    AnswerScores all;
    std::int64_t without_prediction = 0;  // such questions score as if they were predicted to have no answer
    // SQuAD 2.0 only:
    std::optional<AnswerScores> answerable;
    std::optional<AnswerScores> unanswerable;
    // The best scores, and the greatest probability of no answer with which a text counts as an answer there.
    double best_exact = 0;
    double best_exact_threshold = 0;
    double best_f1 = 0;
    double best_f1_threshold = 0;
};

/// Evaluates the predictions by question id. SQuAD 2.0: a question whose probability of no answer is above `threshold`
/// counts as unanswered. Throws Error(data), with the question's id, if SQuAD 1.1 has no true answer for a question.
AnswerEvaluation evaluate_answers(const QuestionSet& set, const std::map<std::string, Predicted>& predictions,
                                  double threshold = 1);

}  // namespace cnntrain::data
