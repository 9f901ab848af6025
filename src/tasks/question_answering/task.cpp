#include "tasks/task_table.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/questions.h"
#include "cnntrain/graph/bert.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/graph/optimiser.h"
#include "cnntrain/graph/passes.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/task.h"
#include "cnntrain/run/text_reports.h"
#include "cnntrain/run/weights.h"
#include "tasks/bert/fine_tuning.h"
#include "tasks/question_answering/options.h"

namespace cnntrain::tasks {
namespace {

// Question answering: BERT finds the answer to a question in a text, as in SQuAD 1.1 and 2.0. A sample is a feature: a
// question with one window of its text.

using run::Samples;
using run::Topic;

constexpr const char* kExactMatch = "exact_match";
constexpr const char* kWordF1 = "f1";

class QuestionAnswering final : public FineTuning, public run::Scorer {
public:
    /// `backend`: executes the graphs and must outlive the task. `seed`: of the order of features.
    QuestionAnswering(const options::ParseResult& arguments, const backend::Backend& backend, std::uint64_t seed);

    const run::TaskTraits& traits() const override { return traits_; }
    const metrics::Columns& columns() const override { return columns_; }
    std::string printed(const run::PrintedRow& row) const override;
    std::string printed_at(const run::Moment& moment) const override;

    /// Split::validation reads --validation-file; an evaluation whose command line has --data-dir reads that.
    std::unique_ptr<Samples> open(data::Split split) const override;
    std::int64_t samples(data::Split split, run::Counted how) const override;
    std::vector<data::Field> batch_fields(data::Split split, std::int64_t samples) const override;
    graph::Graph graph(run::GraphUse use, const std::vector<data::Field>& fields) const override;
    std::vector<Topic> dry_run_topics(options::Command command) const override;

    run::Scored scores(const run::RowOutputs& logits, const metrics::Sums& sums) const override;
    std::unique_ptr<Samples> asked() const override { return open(data::Split::validation); }
    run::Scored answers(const run::RowOutputs& logits) const override;

private:
    using Questions = std::shared_ptr<const data::QuestionSet>;

    const AnsweringSettings& own() const { return answering_settings(settings()); }
    std::string_view version() const { return own().questions.v2 ? "2.0" : "1.1"; }
    const Questions& questions(data::Split split) const;
    /// Answers have a place for each feature of a row.
    std::shared_ptr<const data::Dataset> rows(data::Split split) const {
        const bool has_answers = split == data::Split::train;
        return rows_of(split, data::question_features(questions(split)),
                       has_answers ? most_texts(own().sequence_length) : 0);
    }
    Questions read(const std::string& file, bool training) const;
    std::vector<data::Answer> answered(const run::RowOutputs& logits) const;
    data::AnswerEvaluation evaluated(std::span<const data::Answer> answers) const;

    /// The head may be missing; a pooler and heads of pretraining are ignored.
    run::TaskTraits traits_{
        .loss = std::string(nn::kLoss),
        .metrics = {{run::Metric::accuracy, {kWordF1}}},
        .first_weights = {.last_layer = {std::string(nn::kAnswersScope) + "/"}, .may_have = {"cls/", "bert/pooler/"}},
        .answers = run::AnswerForm::positions};
    run::EvaluationGraphs graphs_{settings(), backend()};
    metrics::Columns columns_;
    mutable Questions training_;    // null until it is read
    mutable Questions validation_;  // the same
};

metrics::Columns answer_columns(bool v2) {
    const std::string loss(nn::kLoss);
    metrics::Columns columns;
    columns.unit = {"feature", "features", "feature"};
    columns.tags = {{"epoch", "epoch"},
                    {"lr", "learning_rate"},
                    {"loss_batch", "loss"},
                    {"feature_per_sec", "througput"}};  // as the original program spells it
    columns.training = {{.name = "loss", .output = loss, .label = "loss"}};
    columns.validation = {run::score_column(kExactMatch, "exact match"), run::score_column(kWordF1, "F1")};
    if (!v2) return columns;
    for (const char* name : {"HasAns_exact", "HasAns_f1", "NoAns_exact", "NoAns_f1", "best_exact", "best_exact_thresh",
                             "best_f1", "best_f1_thresh"})
        columns.validation.push_back(run::score_column(name, ""));
    return columns;
}

QuestionAnswering::QuestionAnswering(const options::ParseResult& arguments, const backend::Backend& backend,
                                     std::uint64_t seed)
    : FineTuning(arguments, backend, seed, {"questions", "questions", "BERT question answering"}),
      columns_(answer_columns(own().questions.v2)) {
    traits_.has_real_data = !own().generated;
    if (own().has_phases()) columns_.position = [this](const metrics::TrainingRow& row) { return position(row); };
}

std::string QuestionAnswering::printed_at(const run::Moment& moment) const {
    if (!own().has_phases()) return "";
    if (const auto* const last = std::get_if<run::LastUpdate>(&moment))
        return "training times: " + run::text(last->seconds) + " s";
    if (const auto* const plan = std::get_if<const schedule::RunPlan*>(&moment)) {
        const std::int64_t all = (*plan)->iterations, updates = (*plan)->iterations_per_host_step;
        return "Total samples " + std::to_string((*plan)->images) + "\nTraining will last " + std::to_string(all) +
               " iterations and " + std::to_string((all + updates - 1) / updates) +
               " steps will be executed.\nUsing learning rate schedule " + own().lr_schedule +
               "\nWarmup period set to " + std::to_string(optim::StepRate(own().learning_rate, all).warmup_updates()) +
               " steps";
    }
    return FineTuning::printed_at(moment);
}

std::string QuestionAnswering::printed(const run::PrintedRow& row) const {
    if (const auto* const training = std::get_if<const metrics::TrainingRow*>(&row)) {
        const metrics::TrainingRow& now = **training;
        return formatted(
            "step: %6lld, iteration: %6lld, epoch: %6.2f, lr: %6.4g, loss: %6.3f, throughput: %6.2f samples/sec, batch "
            "time: %8.6f s, total_time: %8.1f s",
            static_cast<long long>(position(now).step), static_cast<long long>(now.iteration), now.epoch, now.lr,
            now.results.at(0).average, now.samples_per_second, now.it_time, now.total_time);
    }
    if (const auto* const validated = std::get_if<const metrics::ValidationRow*>(&row)) {
        const metrics::ValidationRow& now = **validated;
        return formatted(
            "SQuAD %s evaluation results: Exact Match: %5.2f, F1: %5.2f [%s] (iteration: %6lld, epoch: %6.2f, "
            "throughput: %6.2f samples/sec, time: %8.6f)",
            std::string(version()).c_str(), now.results.at(0), now.results.at(1), now.name.c_str(),
            static_cast<long long>(now.iteration), now.epoch, now.samples_per_second, now.val_time);
    }
    const metrics::InferenceRow& now = *std::get<const metrics::InferenceRow*>(row);
    return formatted(
        "batch size: %4lld, latency avg: %6f ms, latency 99p: %6.4f ms, latency 99p9: %6.4g ms, throughput: %6.3f "
        "samples/sec, ",
        static_cast<long long>(settings().training.micro_batch_size), now.latencies.mean, now.latencies.p99,
        now.latencies.p99_9, now.samples_per_second);
}

QuestionAnswering::Questions QuestionAnswering::read(const std::string& file, bool training) const {
    if (is_directory(posix_files(), file))
        throw Error(ErrorKind::usage, file + " is a folder; question answering reads one JSON file");
    data::QuestionSettings wanted = own().questions;
    wanted.file = file;
    wanted.training = training;
    Questions set = data::read_questions(wanted, run::core_budget(settings().run).input_threads);
    if (!set->left_out.empty()) {
        log::warning(
            file + ": " + counted(std::ssize(set->left_out), "question") +
            " left out, whose answer is not the text at answer_start; the first: " + printable(set->left_out.front()));
    }
    if (!own().feature_folder.empty() && !arguments().wants_dry_run && !own().generated) {
        try {
            data::write_features(*set, own().feature_folder, run::batch_plan(settings()).global_batch());
        } catch (const Error& error) {
            log::warning(std::string("the features are not kept: ") + error.what());
        }
    }
    return set;
}

const QuestionAnswering::Questions& QuestionAnswering::questions(data::Split split) const {
    if (split == data::Split::train) {
        if (training_ == nullptr) training_ = read(own().file, /*training=*/true);
        return training_;
    }
    if (validation_ == nullptr) {
        const bool other_file = is_on_line("data_dir") && !is_on_line("validation_file");
        const bool asked = !settings().main.trains && (other_file || own().validation_file.empty());
        validation_ = read(asked ? own().file : own().validation_file, /*training=*/false);
    }
    return validation_;
}

/// The features of the published training sets with the options' defaults and the vocabulary of BERT, by the original
/// program.
constexpr std::int64_t kPublishedFeatures = 88'641;
constexpr std::int64_t kPublishedFeatures2 = 131'944;

std::int64_t QuestionAnswering::samples(data::Split split, run::Counted how) const {
    if (!is_used(split)) return 0;
    const bool is_there = exists(posix_files(), own().file) && exists(posix_files(), own().vocabulary_file);
    if (split == data::Split::train && !own().generated && (how == run::Counted::published || !is_there))
        return own().questions.v2 ? kPublishedFeatures2 : kPublishedFeatures;
    return rows(split)->size();
}

std::unique_ptr<Samples> QuestionAnswering::open(data::Split split) const {
    return bert_samples(rows(split), split, seed());
}

std::vector<data::Field> QuestionAnswering::batch_fields(data::Split split, std::int64_t samples) const {
    const auto field = [&](std::string_view name, std::int64_t length) {
        return data::Field{std::string(name), {DType::i32, {samples, length}}};
    };
    const std::int64_t length = own().sequence_length;
    std::vector<data::Field> fields = {field(nn::kInputIds, length), field(nn::kSegmentIds, length),
                                       field(nn::kInputMask, length)};
    if (split == data::Split::train) fields.push_back(field(nn::kAnswerPositions, 2));
    fields.push_back(field(nn::kInputPosition, length));
    return fields;
}

graph::Graph QuestionAnswering::graph(run::GraphUse use, const std::vector<data::Field>& fields) const {
    const TensorDesc& ids = data::field_desc(fields, nn::kInputIds);
    nn::BertAnswersRequest request{.model = own().model, .numerics = run::numerics(settings().device, backend())};
    request.batch = ids.shape.at(0);
    request.length = ids.shape.at(1);
    request.packed = data::has_field(fields, nn::kSequenceNumbers);
    if (use != run::GraphUse::training) {
        return graphs_.as_checkpoint_computes(graph::apply_rewrites(
            nn::build_bert(request, ops::op_table(), nn::Mode::evaluation), backend().rewrites().evaluation));
    }
    if (settings().training.pipeline) request.splits = settings().training.pipeline_splits;
    return run::with_update(nn::build_bert(request, ops::op_table(), nn::Mode::training), nn::kLoss, settings(),
                            backend());
}

std::vector<Topic> QuestionAnswering::dry_run_topics(options::Command /*command*/) const {
    const graph::Graph graph = this->graph(run::GraphUse::evaluation, batch_fields(data::Split::validation, 1));
    std::string counts;
    const auto add = [&](const char* what, data::Split split) {
        if (split == data::Split::train && !own().generated && !exists(posix_files(), own().file)) {
            counts = counted(samples(split, run::Counted::published), "feature") + " of the published set, as " +
                     own().file + " is not there,";
            return;
        }
        const data::QuestionSet& set = *questions(split);
        counts += (counts.empty() ? "" : " and ") + std::to_string(set.questions.size()) + " " + what + " questions (" +
                  counted(std::ssize(set.features), "feature") + ")";
    };
    const bool trains = settings().main.trains;
    if (trains) add("training", data::Split::train);
    if (!trains || settings().validation.enabled) add("validation", data::Split::validation);
    return with_phases({model_topic(*this, graph, nn::forward_flops(graph)),
                        {"Data", counts + " of " + std::to_string(own().sequence_length) + " tokens"}},
                       own());
}

/// Padding takes no part in the ranking of positions.
std::vector<data::Answer> QuestionAnswering::answered(const run::RowOutputs& logits) const {
    const data::QuestionSet& set = *questions(data::Split::validation);
    const auto length = static_cast<std::size_t>(own().sequence_length);
    std::vector<data::Answer> answers;
    answers.reserve(set.questions.size());
    for (const data::Question& question : set.questions) {
        std::vector<float> values(question.features * 2 * length, std::numeric_limits<float>::lowest());
        std::vector<data::FeatureLogits> windows;
        for (std::size_t i = 0; i < question.features; ++i) {
            const std::size_t number = question.first_feature + i;
            const data::QuestionFeature& feature = set.features[number];
            const data::PackedPlace place = place_of(data::Split::validation, static_cast<std::int64_t>(number));
            const std::size_t tokens = set.window_position(feature) + feature.length + 1;  // the last one is [SEP]
            const std::span<float> both = std::span(values).subspan(2 * i * length, 2 * length);
            for (const std::size_t begin : {std::size_t{0}, length}) {
                const std::size_t first = begin + static_cast<std::size_t>(place.first);
                std::ranges::copy(logits.of(place.row).subspan(first, tokens), both.subspan(begin).begin());
            }
            windows.push_back({both.first(length), both.last(length)});
        }
        answers.push_back(data::answer_of(set, question, windows, own().answers));
    }
    return answers;
}

data::AnswerEvaluation QuestionAnswering::evaluated(std::span<const data::Answer> answers) const {
    std::map<std::string, data::Predicted> predictions;
    for (const data::Answer& answer : answers)
        predictions[answer.id] = {answer.text, answer.no_answer_probability};
    return data::evaluate_answers(*questions(data::Split::validation), predictions);
}

run::Scored QuestionAnswering::scores(const run::RowOutputs& logits, const metrics::Sums& /*sums*/) const {
    const data::AnswerEvaluation found = evaluated(answered(logits));
    const data::AnswerScores with = found.answerable.value_or(data::AnswerScores{});
    const data::AnswerScores without = found.unanswerable.value_or(data::AnswerScores{});
    run::Scored scored;
    scored.values = {{kExactMatch, found.all.exact},   {kWordF1, found.all.f1},
                     {"HasAns_exact", with.exact},     {"HasAns_f1", with.f1},
                     {"NoAns_exact", without.exact},   {"NoAns_f1", without.f1},
                     {"best_exact", found.best_exact}, {"best_exact_thresh", found.best_exact_threshold},
                     {"best_f1", found.best_f1},       {"best_f1_thresh", found.best_f1_threshold}};
    return scored;
}

/// The answer within its text, with a few characters on both sides. Answers are words joined by one space.
std::string in_context(const data::Question& question, const std::string& answer) {
    constexpr std::size_t kAround = 30;
    const std::string text = joined(question.context->words, " ", [](std::string_view word) { return word; });
    const std::size_t at = answer.empty() ? std::string::npos : text.find(answer);
    if (at == std::string::npos) return "";
    const auto inside_character = [&](std::size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80; };
    std::size_t begin = at > kAround ? at - kAround : 0;
    while (begin < at && inside_character(begin))
        ++begin;
    std::size_t end = std::min(at + answer.size() + kAround, text.size());
    while (end < text.size() && inside_character(end))
        ++end;
    return (begin > 0 ? "..." : "") + text.substr(begin, end - begin) + (end < text.size() ? "..." : "");
}

run::Scored QuestionAnswering::answers(const run::RowOutputs& logits) const {
    const data::QuestionSet& set = *questions(data::Split::validation);
    const bool v2 = own().questions.v2;
    const std::vector<data::Answer> all = answered(logits);
    run::Scored scored;
    bool has_truth = true;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const data::Question& question = set.questions[i];
        const data::Answer& answer = all[i];
        has_truth = has_truth && (question.is_impossible || !question.answers.empty());
        const auto best = std::ranges::find(answer.n_best, answer.text, &data::RankedAnswer::text);
        const double probability = best == answer.n_best.end() ? 0 : best->probability;
        const std::string context = in_context(question, answer.text);
        scored.answers.push_back(
            {printable(question.text) + " -> " + (answer.text.empty() ? "no answer" : printable(answer.text)) +
                 formatted(" (%.4f)", probability) + (context.empty() ? "" : "  in: " + printable(context)),
             {{"id", question.id},
              {"question", question.text},
              {"answer", answer.text},
              {"probability", probability},
              {"context", context}}});
    }
    if (has_truth) {
        const data::AnswerEvaluation found = evaluated(all);
        const std::string name = "SQuAD " + std::string(version()) + " evaluation";
        if (own().has_phases()) scored.lines = {"Using " + name + " file"};
        scored.lines.push_back(name +
                               formatted(" results: Exact Match: %5.2f, F1: %5.2f", found.all.exact, found.all.f1));
    }
    scored.files = {{"predictions.json", data::predictions_json(all, v2)},
                    {"best_predictions.json", data::best_predictions_json(all)}};
    if (v2) scored.files.emplace_back("null_odds.json", data::null_odds_json(all));
    return scored;
}

std::string_view answering_examples(Command command) {
    switch (command) {
        case Command::train:
            return "  cnntrain train --task question-answering --data-dir train-v1.1.json --init-checkpoint "
                   "FOLDER/model.safetensors\n";
        case Command::validation:
            return "  cnntrain validation --restore-path RUN --data-dir dev-v1.1.json\n";
        case Command::inference:
            return "  cnntrain inference --restore-path RUN --data-dir QUESTIONS.json   prints the answers\n"
                   "  cnntrain inference --restore-path RUN --data-dir QUESTIONS.json --logs-path ANSWERS\n";
        default:
            return "";
    }
}

int run_answering_phases(const run::TaskRow& row, const options::ParseResult& arguments, const run::Host& host) {
    const AnsweringSettings& own = answering_settings(arguments.settings);
    const bool measures = arguments.command == Command::inference;
    return run_phases(row, arguments, host,
                      {"", measures && own.validation_file.empty() ? own.file : own.validation_file});
}

}  // namespace

run::TaskRow question_answering_row() {
    run::TaskRow row = fine_tuning_row();
    row.options.name = "question-answering";
    row.options.options = answering_options;
    row.options.examples = answering_examples;
    row.options.read_config = [](const std::string& config, const options::Environment& environment) {
        return read_bert_config(answering_options(), config, environment, "SQuAD");
    };
    row.options.fill = fill_answering;
    row.options.check = check_answering;
    row.options.settings = [] { return TaskSettings(AnsweringSettings{}); };
    row.options.complete = complete_answering;
    row.make = run::make_task<QuestionAnswering>;
    row.functions = [](const options::Settings& settings) {
        return nn::bert_answers_functions(answering_settings(settings).model);
    };
    row.run = run_answering_phases;
    return row;
}

}  // namespace cnntrain::tasks
