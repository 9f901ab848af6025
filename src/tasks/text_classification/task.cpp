#include "tasks/task_table.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/glue.h"
#include "cnntrain/data/sets.h"
#include "cnntrain/graph/bert.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/graph/passes.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/scores.h"
#include "cnntrain/run/task.h"
#include "cnntrain/run/weights.h"
#include "cnntrain/weights/checkpoint.h"
#include "cnntrain/weights/hugging_face.h"
#include "tasks/bert/fine_tuning.h"
#include "tasks/class_weights.h"
#include "tasks/teacher.h"
#include "tasks/text_classification/options.h"

namespace cnntrain::tasks {
namespace {

// Text classification: BERT with a dense layer on its pooled output assigns one of C classes, a score, or any of C
// labels to a text or pair of texts.

using run::Samples;
using run::Topic;

class TextClassification final : public FineTuning, public run::Classifier, public run::Scorer {
public:
    /// `backend`: executes the graphs and must outlive the task. `seed`: of the order of texts.
    TextClassification(const options::ParseResult& arguments, const backend::Backend& backend, std::uint64_t seed);

    const run::TaskTraits& traits() const override { return traits_; }
    const metrics::Columns& columns() const override { return columns_; }
    std::string printed(const run::PrintedRow& row) const override;

    /// Split::validation reads --validation-file; without it, --data-dir if the command line of an evaluation has it;
    /// otherwise the held-out share of the training file.
    std::unique_ptr<Samples> open(data::Split split) const override;
    std::int64_t samples(data::Split split, run::Counted /*how*/) const override {
        return is_used(split) ? rows(split, texts(split))->size() : 0;
    }
    std::vector<data::Field> batch_fields(data::Split split, std::int64_t samples) const override;
    std::uint64_t input_bytes(const data::LoaderSettings& loader) const override;
    /// The classes of the checkpoint that the run reads; without one, those of the training file.
    std::vector<std::string> class_names() const override;

    graph::Graph graph(run::GraphUse use, const std::vector<data::Field>& fields) const override;
    std::vector<Topic> dry_run_topics(options::Command command) const override;

    /// The texts of --data-dir without labels if the command line has it; otherwise the validation split.
    Subjects subjects(const data::LoaderSettings& loader) const override;
    std::string_view label_field() const override { return nn::kLabels; }
    /// Null where a text has a score or several labels.
    const run::Classifier* classifier() const override { return kind() == nn::LabelKind::single ? this : nullptr; }

    const run::Classifier* solvable() const override { return kind() == nn::LabelKind::score ? nullptr : this; }

    /// Scores and several labels have results that are no sums over texts, and so have GLUE's tasks.
    const run::Scorer* scorer() const override {
        return kind() == nn::LabelKind::single && own().glue.empty() ? nullptr : this;
    }
    run::Scored scores(const run::RowOutputs& logits, const metrics::Sums& sums) const override;
    bool counts_labels() const override { return kind() == nn::LabelKind::several; }
    std::unique_ptr<Samples> asked() const override { return opened(data::Split::validation, asked_texts()); }
    run::Scored answers(const run::RowOutputs& logits) const override;

    Features features_graph(const std::vector<data::Field>& fields) const override;
    std::unique_ptr<Samples> in_order(data::Split split, bool augmented) const override;

private:
    using Texts = std::shared_ptr<const data::LabelledText>;

    const TextSettings& own() const { return text_settings(settings()); }
    nn::LabelKind kind() const { return own().text.labels; }
    std::int64_t outputs() const { return kind() == nn::LabelKind::score ? 1 : std::ssize(class_names()); }
    Texts asked_texts() const;
    std::shared_ptr<const data::Dataset> rows(data::Split split, const Texts& texts) const {
        return rows_of(split, texts, most_texts(own().text.sequence_length));
    }
    std::unique_ptr<Samples> opened(data::Split split, const Texts& texts) const {
        return bert_samples(rows(split, texts), split, seed());
    }
    /// The logits of a text of the validation split, or of those that are asked.
    std::span<const float> logits_of(std::int64_t text, const run::RowOutputs& logits) const;
    std::vector<std::string> predictions(const run::RowOutputs& logits, std::int64_t texts) const;
    struct Judged {
        std::vector<std::int32_t> labels;  // of classes, or several a text
        std::vector<std::int32_t> predicted;
        std::vector<float> logits;  // of several labels
        std::vector<double> scores;
        std::vector<double> answers;
    };
    Judged judged(const run::RowOutputs& logits) const;
    run::Scored scored(const Judged& all) const;
    bool holds_out() const;
    /// Texts in a row of a training's batch; 0: a row is a text.
    std::int64_t slots() const;
    Teacher teacher() const;
    const std::vector<double>& class_weights() const;
    /// `phase`: which file of a GLUE task; files for prediction need no labels.
    Texts read(const std::string& file, data::GluePhase phase, std::vector<std::string> classes) const;
    const Texts& training_file() const;
    const data::LabelledParts& held_out_parts() const;
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
    run::EvaluationGraphs graphs_{settings(), backend()};
    metrics::Columns columns_;
    std::vector<std::string> recorded_classes_;  // classes of the checkpoint that the run reads; empty: no checkpoint
    mutable Texts training_file_;                // null until it is read
    mutable Texts validation_file_;              // the same
    mutable Texts asked_texts_;                  // the same
    mutable data::LabelledParts parts_;          // of the training file; null until it is divided
    mutable std::optional<std::vector<double>> class_weights_;
};

/// The held-out texts are the same in every run, so that runs can be compared.
constexpr std::uint64_t kSplitSeed = 1;

constexpr const char* kMatthews = "matthews";
constexpr const char* kPearson = "pearson";
constexpr const char* kSpearman = "spearman";
using run::kExact;
using run::kMacroF1;
using run::kMeanPrecision;
using run::kMicroF1;
constexpr const char* kF1 = "f1";  // of class 1, where there are two

/// The results of these labels that are no sums over texts.
std::vector<const char*> results_of(nn::LabelKind kind) {
    switch (kind) {
        case nn::LabelKind::single:
            return {kMatthews, kF1, kMacroF1};
        case nn::LabelKind::score:
            return {kPearson, kSpearman};
        case nn::LabelKind::several:
            return {kExact, kMicroF1, kMacroF1, kMeanPrecision};
    }
    return {};
}

metrics::Columns make_columns(const TextSettings& own, bool during_training) {
    const nn::LabelKind kind = own.text.labels;
    const std::string correct(nn::kCorrect);
    const std::string loss(nn::kLoss);
    metrics::Columns columns;
    columns.unit = {"text", "texts", "text"};
    columns.training = {{.name = "loss", .output = loss, .label = "loss"}};
    if (own.has_phases()) {  // as the original program spells them
        columns.tags = {{"epoch", "epoch"},
                        {"lr", "learning_rate"},
                        {"loss_batch", "loss"},
                        {"acc_batch", "acc"},
                        {"text_per_sec", "througput"}};
    }
    if (kind != nn::LabelKind::score) {
        columns.training.push_back({.name = "train_acc", .output = correct, .scale = 100, .label = "accuracy"});
        if (own.has_phases()) columns.training.push_back({.name = "acc", .output = correct});
        columns.validation = {{.name = run::kTop1Column, .output = correct, .scale = 100, .label = "accuracy"}};
        columns.inference = {{.name = run::kTop1Column, .output = correct, .scale = 100}};
    }
    columns.validation.push_back({.name = run::kValidationLossColumn, .output = loss, .label = "loss"});
    if (kind != nn::LabelKind::single || !own.glue.empty()) {
        for (const char* name : results_of(kind))
            columns.validation.push_back(run::score_column(name, name));
    }
    if (kind != nn::LabelKind::single) return columns;
    columns.more_validation = {run::kBalancedColumn};
    if (during_training) columns.validation.push_back(run::balanced_accuracy_column());
    return columns;
}

/// Classes with which a checkpoint was saved, or those of the config.json beside another program's.
std::vector<std::string> classes_of_checkpoint(const std::string& path) {
    std::vector<std::string> names = weights::class_names_of(posix_files(), path);
    const std::string config = names.empty() ? file_beside(posix_files(), path, "config.json") : "";
    return config.empty() ? names : weights::parse_bert_config(read_text(posix_files(), config), config).class_names;
}

TextClassification::TextClassification(const options::ParseResult& arguments, const backend::Backend& backend,
                                       std::uint64_t seed)
    : FineTuning(arguments, backend, seed, {"text", "texts", "BERT text classification"}),
      columns_(make_columns(own(), arguments.settings.validation.any())) {
    if (settings().main.restore_path) recorded_classes_ = classes_of_checkpoint(*settings().main.restore_path);
    if (kind() == nn::LabelKind::score) {
        traits_.metrics[run::Metric::accuracy] = {kPearson};
        traits_.answers = run::AnswerForm::score;
    } else if (kind() == nn::LabelKind::several) {
        traits_.metrics[run::Metric::accuracy] = {run::kMeanPrecision};
        traits_.answers = run::AnswerForm::labels;
    }
    traits_.has_real_data = !own().generated;
    if (own().has_phases()) columns_.position = [this](const metrics::TrainingRow& row) { return position(row); };
}

/// A line of training up to its times. `share`: of the updates, after the iteration.
std::string head_of_line(const metrics::TrainingRow& row, std::int64_t step, const std::string& share,
                         double accuracy) {
    std::string head =
        formatted("step: %6lld, iteration: %6lld%s epoch: %6.2f, lr: %6.4g, loss: %6.3f,", static_cast<long long>(step),
                  static_cast<long long>(row.iteration), share.c_str(), row.epoch, row.lr, row.results.at(0).average);
    if (row.results.size() > 1) head += formatted(" accuracy: %6.3f %%,", accuracy);
    return head + formatted(" throughput: %6.2f samples/sec, ", row.samples_per_second);
}

std::string text_line(const metrics::ValidationRow& row, const run::Task& task) {
    const metrics::Columns& columns = task.columns();
    const auto accuracy = result_of(row, columns, run::kTop1Column);
    std::string results;
    for (const char* name : {kMatthews, kF1, kExact, kMicroF1, kMacroF1, kMeanPrecision, kPearson, kSpearman}) {
        if (const auto value = result_of(row, columns, name)) results += formatted("%s: %6.4f, ", name, *value);
    }
    const double loss = result_of(row, columns, run::kValidationLossColumn).value_or(0);
    const std::string head = accuracy ? formatted("Validation accuracy: %6.3f %% [%s] (", *accuracy, row.name.c_str())
                                      : "Validation [" + row.name + "] (";
    return head +
           formatted("%sloss: %6.4f, iteration: %6lld, epoch: %6.2f, throughput: %6.2f samples/sec, time: %8.6f)",
                     results.c_str(), loss, static_cast<long long>(row.iteration), row.epoch, row.samples_per_second,
                     row.val_time) +
           run::balanced_accuracy_line(task, row);
}

std::string TextClassification::printed(const run::PrintedRow& row) const {
    if (const auto* const training = std::get_if<const metrics::TrainingRow*>(&row)) {
        const metrics::TrainingRow& now = **training;
        const metrics::TrainingResult accuracy = now.results.back();
        if (!own().has_phases()) {
            return head_of_line(now, now.step, ",", accuracy.average) +
                   formatted("time: %8.6f, total_time: %8.1f", now.it_time, now.total_time);
        }
        // Programs parse the lines of run_classifier.py, whose accuracy is that of the last samples.
        const auto all = static_cast<double>(plan(texts(data::Split::train)->size()).iterations);
        const std::string share = formatted(" (%.3f%%), ", static_cast<double>(now.iteration - 1) / all);
        return head_of_line(now, position(now).step, share, accuracy.batch) +
               formatted("batch time: %8.6f s, total_time: %8.1f s", now.it_time, now.total_time);
    }
    if (const auto* const evaluated = std::get_if<const metrics::ValidationRow*>(&row))
        return text_line(**evaluated, *this);
    return bert_line(*std::get<const metrics::InferenceRow*>(row));
}

/// True if a part of the training file is held out.
bool TextClassification::holds_out() const {
    if (!own().validation_file.empty() || !own().glue.empty()) return false;
    return settings().validation.enabled || !settings().main.trains;
}

/// Pairs of texts that are all alike, in memory beside the vocabulary.
MemoryFiles made_up_texts(const std::string& file, const std::string& vocabulary) {
    constexpr int kPairs = 10000;
    std::string rows = "text_a\ttext_b\tlabel\n";
    for (int i = 0; i < kPairs; ++i)
        rows += "some text sequence a\tsome text sequence b\t0\n";
    MemoryFiles files;
    write_text(files, file, rows);
    write_text(files, vocabulary, read_text(posix_files(), vocabulary));
    return files;
}

TextClassification::Texts TextClassification::read(const std::string& file, data::GluePhase phase,
                                                   std::vector<std::string> classes) const {
    const bool is_folder = !own().generated && is_directory(posix_files(), file);
    data::LabelledTextSettings wanted = own().text;
    wanted.file = file;
    wanted.needs_labels = phase != data::GluePhase::prediction;
    if (is_folder && own().glue.empty()) {
        throw Error(ErrorKind::usage, file +
                                          " is a folder; text classification reads one TSV or CSV file, or with "
                                          "--task-name the files of GLUE's task in a folder");
    }
    if (!own().glue.empty() && kind() != nn::LabelKind::score && classes.empty())
        classes = data::glue_task(own().glue).labels;
    if (is_folder) wanted = data::glue_settings(data::glue_task(own().glue), phase, file, wanted);
    wanted.keeps_texts = arguments().command == options::Command::inference;
    const int threads = run::core_budget(settings().run).input_threads;
    if (own().generated) {
        wanted.file = "made-up texts.tsv";
        if (kind() != nn::LabelKind::score && classes.empty()) classes = {"0", "1"};
        return data::open_labelled_text(wanted, threads, classes, made_up_texts(wanted.file, wanted.vocabulary_file));
    }
    Texts texts = data::open_labelled_text(wanted, threads, classes);
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
    if (training_file_ == nullptr) training_file_ = read(own().text.file, data::GluePhase::training, recorded_classes_);
    return training_file_;
}

const data::LabelledParts& TextClassification::held_out_parts() const {
    if (parts_.training == nullptr) parts_ = training_file()->parts(own().validation_fraction, kSplitSeed);
    return parts_;
}

TextClassification::Texts TextClassification::texts(data::Split split) const {
    if (split == data::Split::train) return holds_out() ? held_out_parts().training : training_file();
    const bool other_file = !settings().main.trains && is_on_line("data_dir") && !is_on_line("validation_file");
    const bool from_folder = !own().glue.empty() && (other_file || own().validation_file.empty());
    if (!from_folder) {
        if (other_file || own().generated || own().validation_file == own().text.file) return training_file();
        if (own().validation_file.empty()) return held_out_parts().validation;
    }
    const bool without_labels = from_folder && own().only_predicts();
    if (validation_file_ == nullptr) {
        validation_file_ =
            read(from_folder ? own().text.file : own().validation_file,
                 without_labels ? data::GluePhase::prediction : data::GluePhase::evaluation, class_names());
    }
    return validation_file_;
}

std::unique_ptr<Samples> TextClassification::open(data::Split split) const {
    std::unique_ptr<Samples> samples = opened(split, texts(split));
    if (settings().loss.teacher.empty() || split != data::Split::train) return samples;
    return taught(std::move(samples), teacher(), settings(), backend());
}

std::int64_t TextClassification::slots() const {
    return packs(data::Split::train) ? most_texts(own().text.sequence_length) : 0;
}

/// A teacher reads the same tokens.
Teacher TextClassification::teacher() const {
    const std::string& path = settings().loss.teacher;
    Teacher teacher{.arguments = teacher_arguments(arguments(), {"--data-dir", own().text.file}),
                    .graph = {},
                    .classes = outputs(),
                    .slots = slots(),
                    .repeats = true};
    const options::Settings& theirs = teacher.arguments.settings;
    const TextSettings& them = text_settings(theirs);
    const std::vector<std::string> names = classes_of_checkpoint(*theirs.main.restore_path);
    check_teacher_classes(path, std::ssize(names), names, teacher.classes, class_names());
    if (them.text.lower_case != own().text.lower_case ||
        data::vocabulary_lines(posix_files(), them.text.vocabulary_file) !=
            data::vocabulary_lines(posix_files(), own().text.vocabulary_file)) {
        throw Error(ErrorKind::usage, "--teacher " + path + ": expected a network with the vocabulary of this run, " +
                                          own().text.vocabulary_file + "; it has " + them.text.vocabulary_file);
    }
    nn::BertClassificationRequest bert = request(batch_fields(data::Split::train, 1));
    bert.model = them.model;
    bert.marks_logits = true;
    teacher.graph = [bert](const std::vector<data::Field>& fields) mutable {
        bert.batch = data::field_desc(fields, nn::kInputIds).shape.at(0);
        return nn::build_bert(bert, ops::op_table(), nn::Mode::evaluation);
    };
    return teacher;
}

const std::vector<double>& TextClassification::class_weights() const {
    if (class_weights_) return *class_weights_;
    const auto balanced = [&] {
        const Texts training = texts(data::Split::train);
        std::vector<std::int64_t> sizes(static_cast<std::size_t>(outputs()));
        for (std::int64_t i = 0; i < training->size(); ++i) {
            const std::vector<double> labels = training->labels_of(i);
            for (std::size_t k = 0; k < labels.size(); ++k) {
                if (kind() == nn::LabelKind::single && labels[k] >= 0) ++sizes.at(static_cast<std::size_t>(labels[k]));
                if (kind() == nn::LabelKind::several && labels[k] == 1) ++sizes[k];
            }
        }
        return kind() == nn::LabelKind::several ? balanced_label_weights(sizes, training->size())
                                                : balanced_weights(sizes);
    };
    class_weights_ = tasks::class_weights(
        settings().loss.class_weights, outputs(), [&] { return class_names(); }, balanced);
    return *class_weights_;
}

std::vector<std::string> TextClassification::class_names() const {
    if (kind() == nn::LabelKind::score) return {};
    if (recorded_classes_.empty() && !own().glue.empty()) return data::glue_task(own().glue).labels;
    return recorded_classes_.empty() ? training_file()->classes() : recorded_classes_;
}

nn::BertClassificationRequest TextClassification::request(const std::vector<data::Field>& fields) const {
    const TensorDesc& ids = data::field_desc(fields, nn::kInputIds);
    nn::BertClassificationRequest result;
    result.model = own().model;
    result.numerics = run::numerics(settings().device, backend());
    result.batch = ids.shape.at(0);
    result.length = ids.shape.at(1);
    const bool packed = data::has_field(fields, nn::kFirstTokens);
    if (packed) result.sequences = data::field_desc(fields, nn::kFirstTokens).shape.at(1);
    result.classes = outputs();
    result.labels = kind();
    return result;
}

std::uint64_t TextClassification::input_bytes(const data::LoaderSettings& loader) const {
    const std::uint64_t own = Task::input_bytes(loader);
    if (settings().loss.teacher.empty()) return own;
    return own + teacher_bytes(teacher(), batch_fields(data::Split::train, loader.micro_batch),
                               samples(data::Split::train, run::Counted::used), settings(), backend());
}

graph::Graph TextClassification::built_graph(const std::vector<data::Field>& fields, bool with_logits) const {
    nn::BertClassificationRequest bert = request(fields);
    bert.marks_logits = with_logits;
    return nn::build_bert(bert, ops::op_table(), nn::Mode::evaluation);
}

graph::Graph TextClassification::graph(run::GraphUse use, const std::vector<data::Field>& fields) const {
    if (use == run::GraphUse::classes && !settings().main.features.empty()) return features_graph(fields).graph;
    if (use != run::GraphUse::training) {
        return graphs_.as_checkpoint_computes(graph::apply_rewrites(
            built_graph(fields, /*with_logits=*/use == run::GraphUse::classes), backend().rewrites().evaluation));
    }
    nn::BertClassificationRequest bert = request(fields);
    bert.head_dropout = own().head_dropout;
    bert.class_weights = class_weights();
    bert.focus = settings().loss.focal_gamma;
    if (!settings().loss.teacher.empty()) bert.teacher_temperature = settings().loss.teacher_temperature();
    if (settings().training.pipeline) bert.splits = settings().training.pipeline_splits;
    auto texts_of_batch = static_cast<double>(run::placement(settings(), backend()).samples);
    if (bert.sequences > 0) {  // as many as are in its rows on average
        const std::shared_ptr<const data::Dataset> packed = rows(data::Split::train, texts(data::Split::train));
        texts_of_batch *= static_cast<double>(packed->samples()) / static_cast<double>(packed->size());
    }
    return run::with_update(nn::build_bert(bert, ops::op_table(), nn::Mode::training),
                            taught_loss(settings().loss, texts_of_batch), settings(), backend());
}

run::Classifier::Features TextClassification::features_graph(const std::vector<data::Field>& fields) const {
    graph::Graph graph = built_graph(fields, /*with_logits=*/true);
    nn::LastLayer last = nn::mark_features(graph, graph.output(nn::kLogits), run::kFeatures);
    return {graph::apply_rewrites(std::move(graph), backend().rewrites().evaluation), std::move(last)};
}

/// Texts are never augmented.
std::unique_ptr<Samples> TextClassification::in_order(data::Split split, bool /*augmented*/) const {
    return bert_samples(texts(split), data::Split::validation, seed());
}

std::vector<Topic> TextClassification::dry_run_topics(options::Command /*command*/) const {
    const graph::Graph graph = this->graph(run::GraphUse::evaluation, batch_fields(data::Split::train, 1));
    const std::vector<std::string> classes = class_names();
    std::string counts;
    const bool trains = settings().main.trains;
    if (trains) counts = std::to_string(texts(data::Split::train)->size()) + " training";
    const bool packed = trains && packs(data::Split::train);
    if (packed) counts += " (in " + std::to_string(samples(data::Split::train, run::Counted::used)) + " rows)";
    if (!trains || settings().validation.enabled) {
        counts +=
            (counts.empty() ? "" : " and ") + std::to_string(texts(data::Split::validation)->size()) + " validation";
    }
    const std::string what = kind() == nn::LabelKind::score
                                 ? "each with a score"
                                 : std::to_string(classes.size()) +
                                       (kind() == nn::LabelKind::several ? " labels: " : " classes: ") +
                                       joined(classes);
    const std::string length = std::to_string(own().text.sequence_length);
    return with_phases({model_topic(*this, graph, nn::forward_flops(graph)),
                        {"Data", counts + " texts of at most " + length + " tokens, " + what}},
                       own());
}

std::vector<data::Field> TextClassification::batch_fields(data::Split split, std::int64_t samples) const {
    const std::int64_t length = own().text.sequence_length;
    const bool packed = split == data::Split::train && packs(split);
    Shape of_text{samples};
    if (packed) of_text.push_back(most_texts(length));
    std::vector<data::Field> fields;
    const auto add = [&](std::string_view name, DType type, const Shape& shape) {
        fields.push_back({std::string(name), {type, shape}});
    };
    for (const std::string_view name : {nn::kInputIds, nn::kSegmentIds, packed ? nn::kSequenceNumbers : nn::kInputMask})
        add(name, DType::i32, {samples, length});
    Shape labels = of_text;
    if (kind() == nn::LabelKind::several) labels.push_back(outputs());
    const bool is_score = kind() == nn::LabelKind::score;
    add(nn::kLabels, is_score ? DType::f32 : DType::i32, labels);
    if (is_score) add(nn::kLabelWeights, DType::f32, labels);
    add(nn::kInputPosition, DType::i32, {samples, length});
    if (packed) add(nn::kFirstTokens, DType::i32, of_text);
    if (!settings().loss.teacher.empty() && split == data::Split::train)
        fields.push_back(teacher_field(samples, slots(), outputs()));
    return fields;
}

TextClassification::Texts TextClassification::asked_texts() const {
    if (!is_on_line("data_dir") && own().glue.empty()) return texts(data::Split::validation);
    if (asked_texts_ == nullptr) asked_texts_ = read(own().text.file, data::GluePhase::prediction, class_names());
    return asked_texts_;
}

std::size_t likeliest_class(std::span<const float> logits) {
    return static_cast<std::size_t>(std::ranges::max_element(logits) - logits.begin());
}

std::span<const float> TextClassification::logits_of(std::int64_t text, const run::RowOutputs& logits) const {
    const data::PackedPlace place = place_of(data::Split::validation, text);
    const auto width = static_cast<std::size_t>(outputs());
    return logits.of(place.row).subspan(static_cast<std::size_t>(place.slot) * width, width);
}

/// The class, the score, or the labels of each text.
std::vector<std::string> TextClassification::predictions(const run::RowOutputs& logits, std::int64_t texts) const {
    const std::vector<std::string> names = class_names();
    std::vector<double> thresholds;
    if (kind() == nn::LabelKind::several)
        thresholds = run::label_thresholds(posix_files(), settings().main.restore_path.value_or(""), names.size());
    std::vector<std::string> all;
    for (std::int64_t i = 0; i < texts; ++i) {
        const std::span<const float> own = logits_of(i, logits);
        if (kind() == nn::LabelKind::score) {
            all.push_back(options::to_string(options::Value{static_cast<double>(own[0])}));
            continue;
        }
        std::string text = kind() == nn::LabelKind::single ? names.at(likeliest_class(own)) : "";
        for (std::size_t k = 0; kind() == nn::LabelKind::several && k < own.size(); ++k) {
            if (run::probability_of(own[k]) >= thresholds[k]) text += (text.empty() ? "" : "|") + names.at(k);
        }
        all.push_back(std::move(text));
    }
    return all;
}

/// The labels of the validation split and what the logits say.
TextClassification::Judged TextClassification::judged(const run::RowOutputs& logits) const {
    const Texts labelled = texts(data::Split::validation);
    Judged all;
    for (std::int64_t i = 0; i < labelled->size(); ++i) {
        const std::span<const float> own = logits_of(i, logits);
        const std::vector<double> label = labelled->labels_of(i);
        if (kind() == nn::LabelKind::score) {
            all.scores.push_back(label[0]);
            all.answers.push_back(own[0]);
            continue;
        }
        for (const double one : label)
            all.labels.push_back(static_cast<std::int32_t>(one));
        if (kind() == nn::LabelKind::single) all.predicted.push_back(static_cast<std::int32_t>(likeliest_class(own)));
        if (kind() == nn::LabelKind::several) all.logits.insert(all.logits.end(), own.begin(), own.end());
    }
    return all;
}

/// The results that are no sums over texts.
run::Scored TextClassification::scored(const Judged& all) const {
    if (kind() == nn::LabelKind::several) return run::scored_labels(all.logits, all.labels, class_names());
    run::Scored scored;
    if (kind() == nn::LabelKind::score) {
        scored.values = {{kPearson, metrics::pearson(all.scores, all.answers)},
                         {kSpearman, metrics::spearman(all.scores, all.answers)}};
        return scored;
    }
    const auto classes = static_cast<std::size_t>(outputs());
    const std::vector<metrics::ClassCount> counts =
        metrics::count_classes(metrics::count_confusion(all.labels, all.predicted, classes));
    scored.values = {{kMatthews, metrics::matthews(counts)},
                     {kF1, classes == 2 ? metrics::f1(counts[1]) : 0},
                     {kMacroF1, metrics::macro_f1(counts)}};
    return scored;
}

run::Scored TextClassification::scores(const run::RowOutputs& logits, const metrics::Sums& sums) const {
    const Judged judgement = judged(logits);
    run::Scored scored = this->scored(judgement);
    if (own().glue.empty()) return scored;
    const std::int64_t count = texts(data::Split::validation)->size();
    std::map<std::string, double> all = scored.values;
    const auto add_mean = [&](const std::string& name, std::string_view output) {
        const auto sum = sums.find(std::string(output));
        if (sum != sums.end()) all[name] = sum->second / static_cast<double>(count);
    };
    add_mean("acc", nn::kCorrect);
    add_mean("loss", nn::kLoss);
    for (const char* name : {"acc", "loss", kPearson, kSpearman}) {
        if (all.contains(name)) all[std::string("average_") + name] = all[name];
    }
    metrics::Confusion confusion;
    if (kind() == nn::LabelKind::single)
        confusion = metrics::count_confusion(judgement.labels, judgement.predicted, class_names().size());
    scored.files = {{"eval_results.txt", metrics::eval_results_text(all, predictions(logits, count), confusion)}};
    return scored;
}

run::Scored TextClassification::answers(const run::RowOutputs& logits) const {
    const data::LabelledText& asked = *asked_texts();
    const std::vector<std::string> all = predictions(logits, asked.size());
    run::Scored scored;
    for (std::int64_t i = 0; i < asked.size(); ++i) {
        const std::string& answer = all[static_cast<std::size_t>(i)];
        const std::string row = std::to_string(asked.row(i));
        scored.answers.push_back(
            {row + " " + printable(asked.text(i)) + ": " + (answer.empty() ? "no label" : printable(answer)),
             {{"row", asked.row(i)}, {"text", asked.text(i)}, {"prediction", answer}}});
    }
    if (own().glue.empty()) return scored;
    // Labels that are no words are numbers, which equal those of their classes.
    scored.files = {{"predict_results.txt", metrics::predict_results_text(all)}};
    return scored;
}

TextClassification::Subjects TextClassification::subjects(const data::LoaderSettings& loader) const {
    const bool other_file = is_on_line("data_dir");
    const Texts subjects = asked_texts();
    const std::unique_ptr<Samples> samples = opened(data::Split::validation, subjects);
    Subjects result{.stream = samples->stream(loader), .names = {}, .printed = other_file};
    const bool packed = packs(data::Split::validation);
    const std::int64_t slots = most_texts(own().text.sequence_length);
    if (packed) result.order.assign(static_cast<std::size_t>(samples->rows() * slots), -1);
    for (std::int64_t i = 0; i < subjects->size(); ++i) {
        result.names.push_back(subjects->text(i));
        result.rows.push_back(subjects->row(i));
        const data::PackedPlace place = place_of(data::Split::validation, i);
        if (packed) result.order[static_cast<std::size_t>(place.row * slots + place.slot)] = i;
    }
    return result;
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

/// Both phases read the folder of a GLUE task.
int run_text_phases(const run::TaskRow& row, const options::ParseResult& arguments, const run::Host& host) {
    const std::string& file = text_settings(arguments.settings).file;
    return run_phases(row, arguments, host, {file, file});
}

}  // namespace

run::TaskRow text_classification_row() {
    run::TaskRow row = fine_tuning_row();
    row.options.name = "text-classification";
    row.options.options = text_options;
    row.options.examples = text_examples;
    row.options.read_config = [](const std::string& config, const options::Environment& environment) {
        return read_bert_config(text_options(), config, environment, "GLUE");
    };
    row.options.fill = fill_text_options;
    row.options.check = check_text_options;
    row.options.settings = [] { return TaskSettings(TextSettings{}); };
    row.options.complete = complete_text_settings;
    row.make = run::make_task<TextClassification>;
    row.functions = [](const options::Settings& settings) {
        return nn::bert_classification_functions(text_settings(settings).model);
    };
    row.run = run_text_phases;
    return row;
}

}  // namespace cnntrain::tasks
