#include "tasks/task_table.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/sets.h"
#include "cnntrain/graph/bert.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/graph/passes.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/task.h"
#include "cnntrain/run/weights.h"
#include "cnntrain/weights/checkpoint.h"
#include "tasks/bert/fine_tuning.h"
#include "tasks/text_classification/options.h"

namespace cnntrain::tasks {
namespace {

// Text classification: BERT with a dense layer on its pooled output assigns one of C classes to a text or pair of
// texts.

using run::Samples;
using run::Topic;

class TextClassification final : public FineTuning, public run::Classifier {
public:
    /// `backend`: executes the graphs and must outlive the task. `seed`: of the order of texts.
    TextClassification(const options::ParseResult& arguments, const backend::Backend& backend, std::uint64_t seed);

    const run::TaskTraits& traits() const override { return traits_; }
    const metrics::Columns& columns() const override { return columns_; }
    std::string printed(const run::PrintedRow& row) const override;

    /// Split::validation reads --validation-file; without it, --data-dir if the command line of an evaluation has it;
    /// otherwise the held-out share of the training file.
    std::unique_ptr<Samples> open(data::Split split) const override;
    std::int64_t samples(data::Split split, run::Counted /*how*/) const override { return texts(split)->size(); }
    std::vector<data::Field> batch_fields(data::Split split, std::int64_t samples) const override;
    /// The classes of the checkpoint that the run reads; without one, those of the training file.
    std::vector<std::string> class_names() const override;

    graph::Graph graph(run::GraphUse use, const std::vector<data::Field>& fields) const override;
    std::vector<Topic> dry_run_topics(options::Command command) const override;

    /// The texts of --data-dir without labels if the command line has it; otherwise the validation split.
    Subjects subjects(const std::function<bool()>& stop_requested) const override;
    std::string_view label_field() const override;
    Features features_graph(const std::vector<data::Field>& fields) const override;
    std::unique_ptr<Samples> in_order(data::Split split, bool augmented) const override;

private:
    using Texts = std::shared_ptr<const data::LabelledText>;

    const TextSettings& own() const { return text_settings(settings()); }
    bool holds_out() const;
    Texts read(const std::string& file, bool labels, const std::vector<std::string>& classes) const;
    const Texts& training_file() const;
    Texts texts(data::Split split) const;
    nn::BertClassificationRequest request(const std::vector<data::Field>& fields) const;
    graph::Graph built_graph(const std::vector<data::Field>& fields, bool with_logits) const;

    /// The classifier may be missing or have other classes, the pooler may be missing, as it is from files of
    /// BertForMaskedLM, and heads of pretraining are ignored.
    run::TaskTraits traits_{.loss = std::string(nn::kLoss),
                            .first_weights = {.last_layer = {std::string(nn::kClassifierScope) + "/"},
                                              .may_have = {"cls/"},
                                              .may_lack = {"bert/pooler/"},
                                              .classes_first = true}};
    metrics::Columns columns_;
    std::vector<std::string> recorded_classes_;  // classes of the checkpoint that the run reads; empty: no checkpoint
    mutable Texts training_file_;                // null until it is read
    mutable Texts validation_file_;              // the same
};

/// The held-out texts are the same in every run, so that runs can be compared.
constexpr std::uint64_t kSplitSeed = 1;

metrics::Columns make_columns(bool during_training) {
    const std::string correct(nn::kCorrect);
    const std::string loss(nn::kLoss);
    metrics::Columns columns = {
        .unit = {"text", "texts", "text"},
        .training = {{.name = "loss", .output = loss, .label = "loss"},
                     {.name = "train_acc", .output = correct, .scale = 100, .label = "accuracy"}},
        .validation = {{.name = run::kTop1Column, .output = correct, .scale = 100, .label = "accuracy"},
                       {.name = run::kValidationLossColumn, .output = loss, .label = "loss"}},
        .inference = {{.name = run::kTop1Column, .output = correct, .scale = 100}},
    };
    columns.more_validation = {run::kBalancedColumn};
    if (during_training) columns.validation.push_back(run::balanced_accuracy_column());
    return columns;
}

TextClassification::TextClassification(const options::ParseResult& arguments, const backend::Backend& backend,
                                       std::uint64_t seed)
    : FineTuning(arguments, backend, seed, {"text", "texts", "BERT text classification"}),
      columns_(make_columns(arguments.settings.validation.any())) {
    if (settings().main.restore_path)
        recorded_classes_ = weights::class_names_of(posix_files(), *settings().main.restore_path);
}

std::string text_line(const metrics::TrainingRow& row) {
    return formatted(
        "step: %6lld, iteration: %6lld, epoch: %6.2f, lr: %6.4g, loss: %6.3f, accuracy: %6.3f %%, "
        "throughput: %6.2f samples/sec, time: %8.6f, total_time: %8.1f",
        static_cast<long long>(row.step), static_cast<long long>(row.iteration), row.epoch, row.lr,
        row.results.at(0).average, row.results.at(1).average, row.samples_per_second, row.it_time, row.total_time);
}

std::string text_line(const metrics::ValidationRow& row, const run::Task& task) {
    return formatted(
               "Validation accuracy: %6.3f %% [%s] (loss: %6.4f, iteration: %6lld, epoch: %6.2f, throughput: %6.2f "
               "samples/sec, time: %8.6f)",
               row.results.at(0), row.name.c_str(), row.results.at(1), static_cast<long long>(row.iteration), row.epoch,
               row.samples_per_second, row.val_time) +
           run::balanced_accuracy_line(task, row);
}

std::string TextClassification::printed(const run::PrintedRow& row) const {
    if (const auto* const training = std::get_if<const metrics::TrainingRow*>(&row)) return text_line(**training);
    if (const auto* const evaluated = std::get_if<const metrics::ValidationRow*>(&row))
        return text_line(**evaluated, *this);
    return bert_line(*std::get<const metrics::InferenceRow*>(row));
}

/// True if a part of the training file is held out.
bool TextClassification::holds_out() const {
    if (!own().validation_file.empty()) return false;
    return settings().validation.enabled || !settings().main.trains;
}

TextClassification::Texts TextClassification::read(const std::string& file, bool labels,
                                                   const std::vector<std::string>& classes) const {
    if (is_directory(posix_files(), file))
        throw Error(ErrorKind::usage, file + " is a folder; text classification reads one TSV or CSV file");
    data::LabelledTextSettings wanted = own().text;
    wanted.file = file;
    wanted.needs_labels = labels;
    wanted.keeps_texts = arguments().command == options::Command::inference;
    Texts texts = data::open_labelled_text(wanted, run::core_budget(settings().run).input_threads, classes);
    if (texts->truncated() > 0) {
        log::warning(file + ": " + counted(texts->truncated(), "text") + " of " + std::to_string(texts->size()) +
                     " lost tokens: longer than --seq-length " + std::to_string(wanted.sequence_length));
    }
    if (texts->with_special_tokens() > 0) {
        log::warning(file + ": special tokens such as [SEP] stand in " + counted(texts->with_special_tokens(), "text") +
                     (wanted.splits_special_tokens
                          ? ", and are divided as words are, as in the original programs; transformers keeps them whole"
                          : ", and each is one token, as in transformers; the original programs divide them") +
                     " (--split-special-tokens, --no-split-special-tokens)");
    }
    return texts;
}

const TextClassification::Texts& TextClassification::training_file() const {
    if (training_file_ == nullptr) training_file_ = read(own().text.file, /*labels=*/true, recorded_classes_);
    return training_file_;
}

TextClassification::Texts TextClassification::texts(data::Split split) const {
    if (split == data::Split::train)
        return holds_out() ? training_file()->parts(own().validation_fraction, kSplitSeed).training : training_file();
    const bool other_file = !settings().main.trains && is_on_line("data_dir") && !is_on_line("validation_file");
    if (other_file) return training_file();
    if (own().validation_file == own().text.file) return training_file();
    if (!own().validation_file.empty()) {
        if (validation_file_ == nullptr) validation_file_ = read(own().validation_file, /*labels=*/true, class_names());
        return validation_file_;
    }
    return training_file()->parts(own().validation_fraction, kSplitSeed).validation;
}

std::unique_ptr<Samples> TextClassification::open(data::Split split) const {
    return bert_samples(texts(split), split, seed());
}

std::vector<std::string> TextClassification::class_names() const {
    return recorded_classes_.empty() ? training_file()->classes() : recorded_classes_;
}

nn::BertClassificationRequest TextClassification::request(const std::vector<data::Field>& fields) const {
    const TensorDesc& ids = data::field_desc(fields, nn::kInputIds);
    nn::BertClassificationRequest result;
    result.model = own().model;
    result.numerics = run::numerics(settings().device, backend());
    result.batch = ids.shape.at(0);
    result.length = ids.shape.at(1);
    result.classes = static_cast<std::int64_t>(class_names().size());
    return result;
}

graph::Graph TextClassification::built_graph(const std::vector<data::Field>& fields, bool with_logits) const {
    nn::BertClassificationRequest bert = request(fields);
    bert.marks_logits = with_logits;
    return nn::build_bert_classification_evaluation(bert, ops::op_table());
}

graph::Graph TextClassification::graph(run::GraphUse use, const std::vector<data::Field>& fields) const {
    if (use != run::GraphUse::training) {
        return graph::apply_rewrites(built_graph(fields, /*with_logits=*/use == run::GraphUse::classes),
                                     backend().rewrites().evaluation);
    }
    nn::BertClassificationRequest bert = request(fields);
    bert.head_dropout = own().head_dropout;
    if (settings().training.pipeline) bert.splits = settings().training.pipeline_splits;
    return run::with_update(nn::build_bert_classification_training(bert, ops::op_table()), nn::kLoss, settings(),
                            backend());
}

run::Classifier::Features TextClassification::features_graph(const std::vector<data::Field>& fields) const {
    graph::Graph graph = built_graph(fields, /*with_logits=*/true);
    const auto logits = std::ranges::find(graph.outputs(), std::string(nn::kLogits), &graph::Output::name);
    nn::LastLayer last = nn::mark_features(graph, logits->value, run::kFeatures);
    return {graph::apply_rewrites(std::move(graph), backend().rewrites().evaluation), std::move(last)};
}

/// Texts are never augmented.
std::unique_ptr<Samples> TextClassification::in_order(data::Split split, bool /*augmented*/) const {
    return bert_samples(texts(split), data::Split::validation, seed());
}

std::string_view TextClassification::label_field() const {
    return nn::kLabels;
}

std::vector<Topic> TextClassification::dry_run_topics(options::Command command) const {
    const graph::Graph graph = this->graph(run::GraphUse::evaluation, batch_fields(data::Split::train, 1));
    const std::vector<std::string> classes = class_names();
    std::string counts;
    if (command == options::Command::train) counts = std::to_string(texts(data::Split::train)->size()) + " training";
    if (command != options::Command::train || settings().validation.enabled) {
        counts +=
            (counts.empty() ? "" : " and ") + std::to_string(texts(data::Split::validation)->size()) + " validation";
    }
    return {{"Model", bert_title(own().model) + ", " + std::to_string(own().model.hidden) + " wide, " +
                          std::to_string(nn::parameter_count(graph)) + " parameters, " +
                          formatted("%.5g", nn::forward_flops(graph) / 1e9) + " GFLOP forward per text"},
            {"Data", counts + " texts of at most " + std::to_string(own().text.sequence_length) + " tokens, " +
                         std::to_string(classes.size()) + " classes: " + joined(classes)}};
}

std::vector<data::Field> TextClassification::batch_fields(data::Split /*split*/, std::int64_t samples) const {
    const auto tokens = [&](std::string_view name) {
        return data::Field{std::string(name), {DType::i32, {samples, own().text.sequence_length}}};
    };
    return {tokens(nn::kInputIds),
            tokens(nn::kSegmentIds),
            tokens(nn::kInputMask),
            {std::string(nn::kLabels), {DType::i32, {samples}}},
            tokens(nn::kInputPosition)};
}

TextClassification::Subjects TextClassification::subjects(const std::function<bool()>& stop_requested) const {
    data::LoaderSettings loader = run::loader_settings(settings(), 0);
    loader.stop_requested = stop_requested;
    const bool other_file = is_on_line("data_dir");
    const Texts subjects =
        other_file ? read(own().text.file, /*labels=*/false, class_names()) : texts(data::Split::validation);
    std::vector<std::string> names;
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 0; i < subjects->size(); ++i) {
        names.push_back(subjects->text(i));
        rows.push_back(subjects->row(i));
    }
    return {bert_samples(subjects, data::Split::validation, seed())->stream(loader), std::move(names), other_file,
            std::move(rows)};
}

std::string_view text_examples(Command command) {
    switch (command) {
        case Command::train:
            return "  cnntrain train --task text-classification --data-dir FILE.tsv --init-checkpoint RUN/ckpt-7031 "
                   "--vocab-file vocab.txt\n"
                   "  cnntrain train --task text-classification --data-dir FILE.tsv --init-checkpoint "
                   "FOLDER/model.safetensors\n";
        case Command::validation:
            return "  cnntrain validation --restore-path RUN                    on the run's held-out texts\n"
                   "  cnntrain validation --restore-path RUN --data-dir FILE.tsv\n";
        case Command::inference:
            return "  cnntrain inference --restore-path RUN/ckpt-500 --data-dir FILE.tsv   texts without labels\n";
        default:
            return "";
    }
}

std::unique_ptr<run::Task> make_texts(const options::ParseResult& arguments, const backend::Backend& backend,
                                      std::uint64_t seed) {
    return std::make_unique<TextClassification>(arguments, backend, seed);
}

std::vector<std::string> text_functions(const options::Settings& settings) {
    return nn::bert_classification_functions(text_settings(settings).model);
}

}  // namespace

run::TaskRow text_classification_row() {
    return {
        .options = {.name = "text-classification",
                    .commands = {Command::train, Command::validation, Command::inference, Command::restore},
                    .options = text_options,
                    .examples = text_examples,
                    .alternatives = {{"epochs", "iterations"},
                                     {"ckpts_per_epoch", "epochs_per_ckpt", true},
                                     {"validate_every", "validate_every_updates"},
                                     {"syncs_per_epoch", "epochs_per_sync", true}},
                    .fill = fill_text_options,
                    .check = check_text_options,
                    .settings = [] { return TaskSettings(TextSettings{}); },
                    .complete = complete_text_settings},
        .make = make_texts,
        .functions = text_functions,
        .scopes = nn::bert_scopes,
    };
}

}  // namespace cnntrain::tasks
