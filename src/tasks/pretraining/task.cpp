#include "tasks/task_table.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/sets.h"
#include "cnntrain/graph/bert.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/graph/optimiser.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/task.h"
#include "cnntrain/run/text_reports.h"
#include "tasks/bert/bert.h"
#include "tasks/pretraining/options.h"

namespace cnntrain::tasks {
namespace {

// BERT's pretraining: prediction of masked words and of the next sentence.

using run::Samples;
using run::TaskDescription;
using run::Topic;

class Pretraining final : public run::Task, public run::WordPredictor {
public:
    /// `backend`: executes the graphs and must outlive the task. `seed`: of the order of sequences and of generated
    /// ones.
    Pretraining(const options::ParseResult& arguments, const backend::Backend& backend, std::uint64_t seed);

    const run::TaskTraits& traits() const override { return traits_; }
    const metrics::Columns& columns() const override { return columns_; }
    TaskDescription description() const override;
    std::string printed(const run::PrintedRow& row) const override;

    /// Split::validation reads --valid-file.
    std::unique_ptr<Samples> open(data::Split split) const override;
    std::int64_t samples(data::Split split, run::Counted how) const override;
    std::vector<data::Field> batch_fields(data::Split split, std::int64_t samples) const override;

    /// An epoch is `samples` / --duplicate-factor.
    schedule::RunPlan plan(std::int64_t samples) const override;
    run::Rate rate(const schedule::RunPlan& plan) const override;
    graph::Graph graph(run::GraphUse use, const std::vector<data::Field>& fields) const override;
    std::vector<Topic> dry_run_topics(options::Command command) const override;

    /// The training text where no other is given.
    data::Split words_split() const override;

private:
    const options::Settings& settings() const { return arguments_.settings; }
    const PretrainingSettings& own() const { return pretraining_settings(settings()); }
    std::string training_line(const metrics::TrainingRow& row) const;
    /// "pretraining_lamb_20221003_113835.123", with the local time; "pretraining_evaluation_20221003_113835.123" for an
    /// evaluation.
    std::string dated_name() const;
    /// Summary of runs with a number of steps.
    std::string training_summary() const;
    metrics::Position position(const metrics::TrainingRow& row) const;
    data::PretrainingSettings text(data::Split split) const;
    nn::BertRequest request(const std::vector<data::Field>& fields) const;
    /// The reason why files are missing; "" if they exist or are not needed.
    std::string missing_files(data::Split split) const;
    std::int64_t epoch_samples(std::int64_t samples) const;

    options::ParseResult arguments_;
    const backend::Backend& backend_;
    std::uint64_t seed_;
    run::TaskTraits traits_;
    metrics::Columns columns_;
    mutable double steps_per_epoch_ = 0;  // of the last planned training; 0: none
};

/// Number of the first step of the host step that ends after `updates` updates.
std::int64_t first_step(std::int64_t updates, std::int64_t device_iterations) {
    return std::max<std::int64_t>(0, updates - device_iterations);
}

constexpr std::string_view kLossScaling = "loss_scaling";

std::int64_t samples_at_once(const options::Settings& settings, const backend::Backend& backend) {
    if (!settings.main.trains) return settings.training.micro_batch_size;
    return run::placement(settings, backend).samples;
}

/// The graph's means over a micro-batch are summed over micro-batches; a factor of `batch`, the samples of each,
/// converts the sum to a mean over samples. The graph's results of sentences are sums, in packed rows means, too.
metrics::Columns make_columns(std::int64_t batch, bool counts_correct, bool packed) {
    const auto size = static_cast<double>(batch);
    const double sentence_size = packed ? size : 1;
    const auto text = [](std::string_view name) { return std::string(name); };
    const std::string weights = text(nn::kMaskedWeightSum);
    metrics::Columns columns;
    columns.unit = {"sequence", "sequences", "seq"};
    if (packed) columns.unit = {"row", "rows", "row"};
    columns.tags = {{"epoch", "epoch"},
                    {"lr", "learning_rate"},
                    {std::string(kLossScaling), std::string(kLossScaling)},
                    {"mlm_loss_batch", "loss/MLM"},
                    {"nsp_loss_batch", "loss/NSP"},
                    {"mlm_acc_batch", "accuracy/MLM"},
                    {"nsp_acc_batch", "accuracy/NSP"},
                    {columns.unit.brief + "_per_sec", "samples_per_sec"}};
    columns.training = {
        {.name = "mlm_loss", .output = text(nn::kMaskedLoss), .scale = size, .label = "MLM loss"},
        {.name = "nsp_loss", .output = text(nn::kSentenceLoss), .scale = sentence_size, .label = "NSP loss"}};
    const auto of_sentences = [&](const char* name, std::string_view sum, std::string_view sum_in_rows) {
        if (!packed) return metrics::Column{.name = name, .output = text(sum)};
        return metrics::Column{.name = name, .output = text(sum_in_rows), .divisor = text(nn::kSentenceWeightSum)};
    };
    columns.validation = {{.name = "mlm_loss", .output = text(nn::kMaskedLossSum), .divisor = weights, .label = "loss"},
                          of_sentences("nsp_loss", nn::kSentenceLoss, nn::kSentenceLossSum)};
    if (counts_correct) {
        columns.training.push_back(
            {.name = "mlm_acc", .output = text(nn::kMaskedCorrect), .scale = size, .label = "MLM accuracy"});
        columns.training.push_back({.name = "nsp_acc", .output = text(nn::kSentenceCorrect), .scale = sentence_size});
        columns.validation.push_back(
            {.name = "mlm_acc", .output = text(nn::kMaskedCorrectSum), .divisor = weights, .label = "accuracy"});
        columns.validation.push_back(of_sentences("nsp_acc", nn::kSentenceCorrect, nn::kSentenceCorrectSum));
    }
    return columns;
}

std::string yes_or_no(bool value) {
    return value ? "on" : "off";
}

std::string loss_scaling(const optim::OptimiserSettings& settings) {
    const auto& by_step = settings.loss_scaling_by_step;
    if (by_step.empty()) return "static, " + run::text(settings.loss_scaling);
    return "by step, from " + run::text(by_step.begin()->second) + " to " + run::text(by_step.rbegin()->second);
}

Pretraining::Pretraining(const options::ParseResult& arguments, const backend::Backend& backend, std::uint64_t seed)
    : arguments_(arguments),
      backend_(backend),
      seed_(seed),
      // The loss is the sum of both losses; the accuracy is that of masked words.
      traits_{.loss = std::string(nn::kMaskedLoss),
              .metrics = {{run::Metric::loss, {"mlm_loss", "nsp_loss"}}, {run::Metric::accuracy, {"mlm_acc"}}},
              .has_real_data = !own().text.generated,
              .checkpoint_lag = settings().training.device_iterations,
              .takes_over_optimiser = true},
      columns_(make_columns(samples_at_once(arguments.settings, backend),
                            pretraining_settings(arguments.settings).model.counts_correct,
                            pretraining_settings(arguments.settings).text.packed)) {
    const optim::OptimiserSettings& how = settings().optimiser;
    const std::int64_t at_once = settings().training.device_iterations;
    columns_.planned.push_back({std::string(kLossScaling), [how, at_once](std::int64_t updates) {
                                    return optim::loss_scaling_at(how, first_step(updates, at_once));
                                }});
    columns_.position = [this](const metrics::TrainingRow& row) { return position(row); };
    columns_.curves.every_host_step = true;
    columns_.curves.compile_time = "poplar/compile_time";  // the original programs' name of the curve
    columns_.curves.planned.push_back({"samples", [batch = run::batch_plan(settings()), at_once](std::int64_t updates) {
                                           return static_cast<double>(first_step(updates, at_once) *
                                                                      batch.global_batch());
                                       }});
}

/// Steps are numbered from 0, and a row has the number of the first step of its host step.
metrics::Position Pretraining::position(const metrics::TrainingRow& row) const {
    const std::int64_t step = first_step(row.iteration, settings().training.device_iterations);
    return {step, steps_per_epoch_ > 0 ? static_cast<double>(step) / steps_per_epoch_ : row.epoch};
}

/// The format is fixed, including the eight blanks and the % after fractions: programs parse it.
std::string Pretraining::training_line(const metrics::TrainingRow& row) const {
    const double none = std::numeric_limits<double>::quiet_NaN();
    const auto result = [&](std::size_t column) {
        if (column >= row.results.size()) return none;
        return own().synthetic ? 0 : row.results[column].batch;
    };
    const metrics::Position at = position(row);
    return formatted(
        "step: %6lld, epoch: %6.2f, lr: %6.7f, mlm_loss: %6.3f, nsp_loss: %6.3f,        mlm_acc: %6.5f %%, "
        "nsp_acc: %6.5f %%, throughput: %6.2f samples/sec, time: %8.6f, total_time: %8.1f",
        static_cast<long long>(at.step), at.epoch, row.lr, result(0), result(1), result(2), result(3),
        row.samples_per_second, row.it_time, row.total_time);
}

std::string pretraining_line(const metrics::ValidationRow& row) {
    std::string line = formatted("Validation mlm_loss: %6.4f, nsp_loss: %6.4f", row.results.at(0), row.results.at(1));
    if (row.results.size() > 2) line += formatted(", mlm_acc: %6.5f, nsp_acc: %6.5f", row.results[2], row.results[3]);
    return line + formatted(" [%s] (steps: %6lld, epoch: %6.2f, throughput: %6.2f samples/sec, time: %8.6f)",
                            row.name.c_str(), static_cast<long long>(row.iteration), row.epoch, row.samples_per_second,
                            row.val_time);
}

std::string Pretraining::printed(const run::PrintedRow& row) const {
    if (const auto* const training = std::get_if<const metrics::TrainingRow*>(&row)) return training_line(**training);
    if (const auto* const evaluated = std::get_if<const metrics::ValidationRow*>(&row))
        return pretraining_line(**evaluated);
    return bert_line(*std::get<const metrics::InferenceRow*>(row));
}

TaskDescription Pretraining::description() const {
    const nn::BertSettings& model = own().model;
    std::ostringstream head;
    head << "BERT pretraining\n" << bert_sizes(model) << '\n';
    head << (own().text.packed ? " Rows of sequences, of " : " Sequences of ") << own().text.sequence_length
         << " tokens, at most " << own().text.max_predictions << " masked; mask "
         << (own().text.static_mask && !own().text.packed ? "static" : "by position") << '\n';
    TaskDescription result;
    result.model = bert_name(model);
    result.run_name = dated_name();
    result.tags_run_name = false;
    result.title = bert_title(model);
    result.details = std::to_string(model.hidden) + " wide";
    result.update = "step";
    result.dated_log = true;
    result.events_folder = "event";
    result.identity = {{"model", result.model}, {"data set", "text"}};
    result.work = bert_work(model, own().text.sequence_length);
    result.work["masked tokens"] = std::to_string(own().text.max_predictions);
    result.summary_head = head.str();
    if (settings().training.iterations) result.summary_training = training_summary();
    result.arithmetic = run::arithmetic(settings().device, backend_);
    result.arguments = {{"compute_acc", model.counts_correct}, {"generated_data", own().text.generated}};
    if (settings().training.iterations) result.arguments["total_steps"] = *settings().training.iterations;
    return result;
}

std::string Pretraining::training_summary() const {
    const optim::OptimiserSettings& optimiser = settings().optimiser;
    const schedule::BatchPlan batch = run::batch_plan(settings());
    std::ostringstream training;
    training << "Training\n Global batch size: " << batch.global_batch() << " (micro-batch " << batch.micro_batch
             << ", accumulated " << batch.accumulation << ", replicas " << batch.replicas * batch.processes << ")\n";
    training << " Stages: " << batch.stages << '\n';
    training << " Steps: " << *settings().training.iterations << ", each host call "
             << settings().training.device_iterations << '\n';
    training << " Checkpoint every " << own().steps_per_checkpoint << " steps\n";
    training << " Learning rate schedule: " << options::to_string(arguments_.at("lr_schedule").value) << '\n';
    training << " Loss scaling: " << loss_scaling(optimiser) << '\n';
    training << " Optimiser: " << options::to_string(arguments_.at("optimizer").value) << ", epsilon "
             << run::text(optimiser.adam.epsilon) << ", weight decay " << run::text(optimiser.weight_decay)
             << ", debiasing " << yes_or_no(optimiser.adam.corrects_bias || optimiser.adam.corrects_step) << '\n';
    return training.str();
}

std::string Pretraining::dated_name() const {
    const Moment now = std::chrono::system_clock::now();
    const std::string how = own().evaluates ? "evaluation" : options::to_string(arguments_.at("optimizer").value);
    return options::to_string(arguments_.at("task").value) + "_" + how + "_" + clock_text("%Y%m%d_%H%M%S", now) +
           formatted(".%03lld", below_second<std::chrono::milliseconds>(now));
}

data::PretrainingSettings Pretraining::text(data::Split split) const {
    data::PretrainingSettings result = own().text;
    if (split == data::Split::validation) result.files = own().held_out_files.value_or("");
    return result;
}

std::unique_ptr<Samples> Pretraining::open(data::Split split) const {
    const int threads = run::core_budget(settings().run).input_threads;
    // Generated held-out sequences differ from generated training sequences.
    const std::uint64_t seed = seed_ + (split == data::Split::validation ? 1 : 0);
    return bert_samples(data::open_pretraining(text(split), seed, threads), split, seed_);
}

std::int64_t Pretraining::samples(data::Split split, run::Counted how) const {
    constexpr std::int64_t kAssumed = 10'000'000;  // by the original programs, without files
    return how == run::Counted::used && missing_files(split).empty() ? open(split)->count() : kAssumed;
}

std::string Pretraining::missing_files(data::Split split) const {
    if (!has_real_data()) return "";
    try {
        data::matching_files(text(split).files);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::data) throw;
        return error.what();
    }
    return "";
}

std::int64_t Pretraining::epoch_samples(std::int64_t samples) const {
    const double epoch = static_cast<double>(samples) / own().duplicate_factor;
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(epoch));
}

schedule::RunPlan Pretraining::plan(std::int64_t samples) const {
    schedule::StepShape shape{settings().training};
    shape.samples = epoch_samples(samples);
    shape.steps_per_log = own().steps_per_log;
    shape.steps_per_checkpoint = own().steps_per_checkpoint;
    shape.steps_per_histogram = own().steps_per_histogram;
    schedule::RunPlan result = schedule::make_step_plan(shape);
    steps_per_epoch_ = static_cast<double>(result.iterations_per_epoch);
    return result;
}

run::Rate Pretraining::rate(const schedule::RunPlan& plan) const {
    return {bert_learning_rate(own(), plan), bert_rate_topics(arguments_, plan)};
}

nn::BertRequest Pretraining::request(const std::vector<data::Field>& fields) const {
    const TensorDesc& ids = data::field_desc(fields, nn::kInputIds);
    nn::BertRequest result;
    result.model = own().model;
    result.numerics = run::numerics(settings().device, backend_);
    result.input.batch = ids.shape.at(0);
    result.input.length = ids.shape.at(1);
    result.input.predictions = data::field_desc(fields, nn::kMaskedIds).shape.at(1);
    result.input.static_mask = own().text.static_mask && !own().text.packed;
    if (own().text.packed) result.input.sequences = data::field_desc(fields, nn::kNextSentenceLabels).shape.at(1);
    return result;
}

graph::Graph Pretraining::graph(run::GraphUse use, const std::vector<data::Field>& fields) const {
    nn::BertRequest bert = request(fields);
    if (use == run::GraphUse::training) {
        if (settings().training.pipeline) bert.splits = settings().training.pipeline_splits;
        const auto sequences = bert.input.sequences > 0 ? 1.0 : static_cast<double>(bert.input.batch);
        return run::with_update(nn::build_bert(bert, ops::op_table(), nn::Mode::training),
                                {{nn::kMaskedLoss, 1}, {nn::kSentenceLoss, sequences}}, settings(), backend_);
    }
    bert.with_word_scores = use == run::GraphUse::words;
    return graph::apply_rewrites(nn::build_bert(bert, ops::op_table(), nn::Mode::evaluation),
                                 backend_.rewrites().evaluation);
}

data::Split Pretraining::words_split() const {
    return own().held_out_files || own().text.generated ? data::Split::validation : data::Split::train;
}

std::vector<Topic> Pretraining::dry_run_topics(options::Command /*command*/) const {
    const nn::BertSettings& model = own().model;
    const bool evaluates = own().evaluates;
    const data::Split split = evaluates ? data::Split::validation : data::Split::train;
    const data::PretrainingSettings read = text(split);
    const graph::Graph graph =
        nn::build_bert(nn::BertRequest{.model = model,
                                       .numerics = run::numerics(settings().device, backend_),
                                       .input = {.length = read.sequence_length,
                                                 .predictions = read.max_predictions,
                                                 .static_mask = read.static_mask && !read.packed,
                                                 .sequences = read.packed ? data::most_sequences(read) : 0}},
                       ops::op_table(), nn::Mode::training);
    std::string sequences = read.generated ? "generated sequences" : read.files;
    sequences += std::string(read.packed ? ", rows of several sequences, of " : ", sequences of ") +
                 std::to_string(read.sequence_length) + " tokens, at most " + std::to_string(read.max_predictions) +
                 " of them masked";
    std::vector<Topic> topics = {
        model_topic(*this, graph, nn::bert_forward_flops(model, read.sequence_length, read.max_predictions)),
        {"Data", sequences}};
    if (const std::string missing = missing_files(split); !missing.empty()) {
        topics.push_back({"Missing", missing + "; " + (evaluates ? "batches" : "epochs") + " are computed for " +
                                         std::to_string(samples(split, run::Counted::published)) + " sequences"});
    }
    return topics;
}

std::vector<data::Field> Pretraining::batch_fields(data::Split split, std::int64_t samples) const {
    data::PretrainingSettings generated = text(split);
    generated.generated = true;
    return bert_samples(data::open_pretraining(generated, seed_, 1), split, seed_)->fields(samples);
}

std::string_view pretraining_examples(Command /*command*/) {
    return "  cnntrain pretrain --config configs/pretrain_base_128_phase1.json --train-file 'DIR/*.tfrecord'\n"
           "  cnntrain pretrain --config pretrain_tiny_128_lamb --generated-data --num-train-steps 4\n"
           "  cnntrain pretrain --config pretrain_base_384_phase2 --train-file FILE --init-checkpoint RUN/ckpt-7031\n"
           "  cnntrain pretrain --config pretrain_base_128_phase1 --evaluate --restore-dir RUN --valid-file FILE\n";
}

std::vector<std::string> pretraining_functions(const options::Settings& settings) {
    return nn::bert_functions(pretraining_settings(settings).model);
}

std::string evaluation_line(const std::string& checkpoint) {
    std::error_code failed;
    const bool is_run = std::filesystem::is_directory(checkpoint, failed);
    return "cnntrain pretrain --evaluate " + std::string(is_run ? "--restore-dir " : "--init-checkpoint ") +
           checkpoint + " --valid-file FILES";
}

/// The tokens of each stage, and devices if the line has some: stages that share the table of words have the same one.
std::string written_stages(const options::Settings& settings, const std::vector<std::string>& splits) {
    std::vector<std::string> stages(1);
    std::vector<std::size_t> devices(1);
    for (const std::string& function : pretraining_functions(settings)) {
        if (stages.size() <= splits.size() && splits[stages.size() - 1] == function) {
            devices.push_back(stages.size());
            stages.emplace_back();
        }
        const std::string token = function.substr(0, nn::kWordsToken.size());
        if (token == nn::kMaskedWordsToken) devices.back() = devices.front();
        stages.back() += (stages.back().empty() ? "\"" : ",\"") + token + '"';
    }
    std::string text;
    for (const std::string& stage : stages)
        text += (text.empty() ? "[" : ",[") + stage + "]";
    text = "--pipeline-stages '[" + text + "]'";
    if (settings.training.device_mapping.empty()) return text;
    text += " --device-mapping";
    for (const std::size_t device : devices)
        text += " " + std::to_string(device);
    return text;
}

}  // namespace

run::TaskRow pretraining_row(Command command) {
    return {
        .options = {.name = "pretraining",
                    .commands = {command},
                    .options = pretraining_options,
                    .examples = pretraining_examples,
                    .alternatives = {{"validate_every", "validate_every_updates"}},
                    .read_config =
                        [](const std::string& config, const options::Environment& environment) {
                            return read_bert_config(pretraining_options(), config, environment, "pretraining");
                        },
                    .empty_line_asks_help = true,
                    .trains = pretraining_trains,
                    .fill = fill_pretraining,
                    .adjust = adjust_pretraining,
                    .check = check_pretraining,
                    .settings = [] { return TaskSettings(PretrainingSettings{}); },
                    .complete = complete_pretraining,
                    // The micro-batches are recorded, too, and say more: a batch's size is rounded up to whole ones.
                    .not_resumed = {"global_batch_size"}},
        .make = run::make_task<Pretraining>,
        .functions = pretraining_functions,
        .evaluation_line = evaluation_line,
        .scopes = nn::bert_scopes,
        .pipeline = run::PipelineOptions{.stages = written_stages, .micro_batch_unit = micro_batch_unit},
    };
}

}  // namespace cnntrain::tasks
