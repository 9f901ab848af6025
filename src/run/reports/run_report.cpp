#include "run/reports/run_report.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/observer.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/task.h"
#include "cnntrain/run/text_reports.h"
#include "run/metrics/csv_files.h"
#include "run/metrics/tensorboard.h"
#include "run/metrics/wandb.h"
#include "run/reports/describe.h"
#include "run/run_files.h"

namespace cnntrain::run {
namespace {

// `--mlperf-logging`: logs the events of a run as lines `:::MLLOG {json}`, on the console and in result_<seed>.txt.
//
// The keys are those of github.com/mlperf/logging, in the order of the original programs.

using Json = nlohmann::ordered_json;

/// A position in this program's source. Not all tools that read this file support std::source_location.
struct Where {
    std::string_view file;
    unsigned line = 0;

    static Where current(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) { return {file, line}; }
};

constexpr std::string_view kPoint = "POINT_IN_TIME";
constexpr std::string_view kStart = "INTERVAL_START";
constexpr std::string_view kEndMark = "INTERVAL_END";

std::int64_t milliseconds_now() {
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
}

/// The part of the path from the source folder on.
std::string short_file(std::string_view path) {
    const std::size_t at = path.rfind("src/");
    return std::string(at == std::string_view::npos ? path : path.substr(at));
}

/// Writes whole numbers as integers.
Json number(double value) {
    if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<std::int64_t>(value);
    return value;
}

/// "all/stage0/conv0/weight" becomes "conv0_weight".
std::string tensor_name(const std::string& variable) {
    constexpr std::string_view kStem = "stage0_";
    std::string name = variable.substr(variable.find('/') + 1);
    std::ranges::replace(name, '/', '_');
    if (name.starts_with(kStem)) name.erase(0, kStem.size());
    return name;
}

std::string result_path(const options::ParseResult& arguments, const std::string& folder) {
    const std::string seed = seed_was_given(arguments) ? std::to_string(*arguments.settings.device.seed) : "None";
    return folder + "/result_" + seed + ".txt";
}

Json json_of(const options::Value& value) {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
    return options::to_string(value);
}

template <typename T> const T& field_of(const metrics::Record& row, std::string_view name) {
    const auto found = std::ranges::find(row.fields, name, &metrics::Field::name);
    CNNTRAIN_CHECK(found != row.fields.end(), "a validation row has no column " + std::string(name));
    return std::get<T>(found->value);
}

class MlperfLog final : public metrics::Handles<MlperfLog> {
public:
    /// Logs the facts that are known before the data are opened. `console` receives every line too.
    MlperfLog(MlperfBenchmark benchmark, const options::ParseResult& arguments, const std::string& folder,
              FileSystem& files, metrics::Observer& console)
        : benchmark_(std::move(benchmark)),
          settings_(arguments.settings),
          path_(result_path(arguments, folder)),
          files_(files),
          console_(console) {
        files.make_directories(folder);
        const TrainingSettings& training = settings_.training;
        point("cache_clear", true);
        write(kStart, "init_start", nullptr, {});
        point("submission_benchmark", benchmark_.name);
        point("submission_division", "closed");
        point("submission_org", "Graphcore");
        point("submission_status", "onprem");
        point("submission_platform", "POD" + std::to_string(training.replicas * training.processes));
        point("seed", *settings_.device.seed);
        point("global_batch_size", batch_plan(settings_).global_batch());
        point("gradient_accumulation_steps", training.gradient_accumulation_count);
        point("opt_weight_decay", settings_.optimiser.weight_decay);
        point("opt_learning_rate_warmup_epochs", number(benchmark_.warmup_epochs));
        for (const auto& [key, value] : benchmark_.facts)
            point(key, json_of(value));
    }

    /// Logs sizes and optimiser.
    void handle(const metrics::TrainingSize& size) {
        size_ = size;
        point("train_samples", size_.training_samples);
        point("eval_samples", size_.validation_samples);
        optimiser();
    }

    void handle(const metrics::WeightsInitialised& weights) {
        for (const std::string& name : weights.parameters)
            write(kPoint, "weights_initialization", nullptr, {{"tensor", tensor_name(name)}});
    }

    void handle(const metrics::TrainingBegan& begin) {
        first_epoch_ = finished_epochs(begin.iteration) + 1;
        open_epoch_ = first_epoch_;
        running_ = true;
        write(kEndMark, "init_stop", nullptr, {});
        write(kStart, "run_start", nullptr, {});
        const double epochs = std::max(1.0, std::ceil(size_.epochs)) - static_cast<double>(first_epoch_ - 1);
        write(kStart, "block_start", nullptr, {{"first_epoch_num", first_epoch_}, {"epoch_count", number(epochs)}});
        write(kStart, "epoch_start", nullptr, {{"epoch_num", open_epoch_}});
    }

    /// Closes the epochs that have ended and opens the next one, unless training has ended.
    void handle(const metrics::HostStepEnded& step) {
        if (step.iteration >= size_.iterations) return;
        while (open_epoch_ <= finished_epochs(step.iteration)) {
            write(kEndMark, "epoch_stop", nullptr, {{"epoch_num", open_epoch_}});
            write(kStart, "epoch_start", nullptr, {{"epoch_num", ++open_epoch_}});
        }
    }

    void handle(const metrics::TrainingFinished& /*end*/) {
        write(kEndMark, "epoch_stop", nullptr, {{"epoch_num", open_epoch_}});
        write(kEndMark, "block_stop", nullptr, {{"first_epoch_num", first_epoch_}});
    }

    void handle(const metrics::ValidationBegan& /*begin*/) {
        write(kStart, "block_start", nullptr, {{"first_epoch_num", first_epoch_}});
    }

    void handle(const metrics::EvaluationBegan& evaluation) {
        evaluated_epoch_ = std::round(evaluation.epoch);
        write(kStart, "eval_start", nullptr, {{"epoch_num", number(evaluated_epoch_)}});
    }

    /// A validation row ends the evaluation.
    void handle(const metrics::Row& row) {
        if (row.use != metrics::Row::Use::logged || row.record.table != metrics::kValidation) return;
        const double quality = field_of<double>(row.record, benchmark_.quality);
        const Json which = {{"epoch_num", number(evaluated_epoch_)}};
        write(kEndMark, "eval_stop", nullptr, which);
        write(kPoint, "eval_accuracy", quality / 100, which);
        succeeded_ = succeeded_ || quality > benchmark_.target;
    }

    void handle(const metrics::ValidationEnded& /*end*/) {
        write(kEndMark, "block_stop", nullptr, {{"first_epoch_num", first_epoch_}});
    }

    /// Logs "success" if the quality exceeded the target, otherwise "aborted". Only the first call has an effect.
    void handle(const metrics::RunEnded& /*end*/) {
        if (!running_) return;
        running_ = false;
        write(kEndMark, "run_stop", nullptr, {{"status", succeeded_ ? "success" : "aborted"}});
    }

private:
    void point(std::string_view key, const Json& value, const Where& where = Where::current()) {
        write(kPoint, key, value, {}, where);
    }

    void write(std::string_view type, std::string_view key, const Json& value, const Json& extra,
               const Where& where = Where::current()) {
        Json metadata = {{"file", short_file(where.file)}, {"lineno", where.line}};
        for (const auto& [name, item] : extra.items())
            metadata[name] = item;
        const Json event = {{"namespace", benchmark_.name},
                            {"time_ms", milliseconds_now()},
                            {"event_type", type},
                            {"key", key},
                            {"value", value},
                            {"metadata", metadata}};
        const std::string line = ":::MLLOG " + event.dump();
        console_.on(metrics::Line{line, metrics::Line::To::console});
        files_.append(path_, line + "\n");
    }

    void optimiser() {
        const optim::OptimiserSettings& settings = settings_.optimiser;
        const bool lars = settings.rule == graph::UpdateRule::lars;
        const bool momentum =
            settings.rule == graph::UpdateRule::momentum || settings.rule == graph::UpdateRule::nesterov;
        if (!lars && !momentum) return;
        const std::string prefix = lars ? "lars_opt_" : "sgd_opt_";
        const MlperfRate rate = benchmark_.rate(size_);
        point(prefix + "learning_rate_decay_steps",
              number(static_cast<double>(size_.iterations) - rate.warmup_iterations));
        point("opt_name", lars ? "lars" : "sgd");
        point(prefix + "momentum", settings.momentum);
        point(prefix + "weight_decay", lars ? settings.lars.weight_decay : settings.weight_decay);
        point(prefix + "base_learning_rate", rate.base);
        point(prefix + "end_learning_rate", rate.end);
        point(prefix + "learning_rate_decay_poly_power", number(rate.decay_power));
        if (lars) point("lars_epsilon", settings.lars.epsilon);
    }

    std::int64_t finished_epochs(std::int64_t iteration) const {
        return iteration * size_.global_batch / size_.training_samples;
    }

    MlperfBenchmark benchmark_;
    options::Settings settings_;
    std::string path_;
    FileSystem& files_;
    metrics::Observer& console_;
    metrics::TrainingSize size_;
    std::int64_t open_epoch_ = 0;  // 0: no epoch is open
    std::int64_t first_epoch_ = 1;
    double evaluated_epoch_ = 0;
    bool succeeded_ = false;
    bool running_ = false;
};

constexpr const char* kSummary = "summary_str";

metrics::LinePrefix line_prefix(const Task& task) {
    return task.description().dated_log ? metrics::dated_prefix : nullptr;
}

/// Rates of an emulated device say so. Those of the input are always this machine's.
bool marks_rates(const options::Settings& settings) {
    return is_emulated(settings.run) && !settings.device.dataset_benchmark;
}

metrics::Extent extent_of(const LoggingSettings& logging, const Terminal& terminal) {
    if (logging.quiet) return metrics::Extent::results;
    return terminal.is_there() && !logging.verbose ? metrics::Extent::brief : metrics::Extent::all;
}

/// The report on the standard output.
std::unique_ptr<metrics::Observer> console_of(const Task& task, const options::Settings& settings, const Host& host) {
    const metrics::Extent extent = extent_of(settings.logging, host.terminal);
    if (settings.logging.format == LogFormat::json) return std::make_unique<metrics::JsonLines>(*host.console, extent);
    auto console = std::make_unique<metrics::Console>(
        *host.console, metrics::Console::Settings{host.terminal, extent, line_prefix(task)});
    if (marks_rates(settings)) console->mark_rates_as_emulated();
    return console;
}

/// Console, log.txt and the CSV files.
void add_local_reports(metrics::Observers& observers, std::unique_ptr<metrics::Observer> console, const Task& task,
                       const options::Settings& settings, const RunFolder& folder, const Host& host) {
    if (host.reports) observers.add(std::move(console));
    if (folder.logs.empty()) return;
    auto log = std::make_unique<metrics::LogFile>(*host.files, folder.logs, line_prefix(task));
    if (marks_rates(settings)) log->mark_rates_as_emulated();
    observers.add(std::move(log));
    observers.add(std::make_unique<metrics::CsvFiles>(*host.files, folder.logs));
}

/// `arguments_json` becomes the run's configuration in Weights & Biases.
void add_wandb(metrics::Observers& observers, const LoggingSettings& logging, const std::string& run_name,
               const std::string& arguments_json) {
    metrics::WandbSettings settings;
    settings.project = logging.wandb_project;
    settings.name = run_name;
    settings.id = logging.wandb_id.value_or("");
    settings.config = option_dictionary(arguments_json);
    auto wandb = std::make_unique<metrics::Wandb>(settings);
    observers.line("Weights & Biases: " + wandb->description());
    observers.add(std::move(wandb));
    observers.on(metrics::Status{metrics::kCompilationStatus, "not started"});
}

void add_tensorboard(metrics::Observers& observers, const RunFacts& facts, const std::string& events_folder,
                     std::optional<std::int64_t> resumed_at, FileSystem& files) {
    metrics::TensorBoardSettings settings;
    settings.folder = facts.folder.logs;
    if (!events_folder.empty()) settings.folder += "/" + events_folder;
    settings.host = facts.hostname;
    if (resumed_at) settings.resumed_at = *resumed_at + 1;
    observers.add(std::make_unique<metrics::TensorBoard>(files, settings));
}

/// Training records its options as the only run in its folder; other runs add to existing files.
void begin_records(const options::ParseResult& arguments, const std::string& folder, const std::string& arguments_text,
                   const Host& host) {
    if (arguments.settings.main.trains) {
        record_arguments(*host.files, folder, arguments_text, options::arguments_json(arguments, {}), false);
    } else {
        add_arguments(*host.files, folder, arguments_text);
    }
}

/// The local reports, with an EstimatorLog where the host asks for one.
metrics::Observers report_estimator(const Task& task, const options::ParseResult& arguments, const RunFolder& folder,
                                    const Host& host) {
    const options::Settings& settings = arguments.settings;
    metrics::Observers observers;
    auto console = console_of(task, arguments.settings, host);
    if (host.estimator && settings.main.restore_path && is_first(host)) {
        observers.add(std::make_unique<EstimatorLog>(
            host.estimator->weight_decay, weights::find_checkpoints(*host.files, *settings.main.restore_path),
            weights::edited_if(settings.checkpoint.trust_edited), *host.files, *console));
    }
    add_local_reports(observers, std::move(console), task, arguments.settings, folder, host);
    return observers;
}

metrics::RunDescription described(const Introduction& introduction, const std::string& arguments_text,
                                  const Host& host) {
    const RunFolder& folder = introduction.facts.folder;
    metrics::RunDescription run;
    run.version = CNNTRAIN_VERSION;
    run.name = folder.name;
    run.folder = folder.logs;
    run.command_line = host.command_line;
    run.machine = introduction.machine;
    if (introduction.io_bits > 0 && introduction.facts.names_ipus)
        run.io_line = "Using " + std::to_string(introduction.io_bits) + "-bit IO between the IPU and host";
    run.title = introduction.title;
    for (const Topic& topic : introduction.topics)
        run.topics.emplace_back(topic.name, topic.text);
    run.topics.emplace_back("Folder", folder.logs.empty()
                                          ? "none (--no-logs); --verbose prints all settings and variables"
                                          : folder.logs + " (all settings and variables are in log.txt)");
    run.summary = introduction.summary;
    run.settings = option_dictionary(arguments_text);
    return run;
}

}  // namespace

metrics::Observers report_training(const Task& task, const options::ParseResult& arguments, const RunFolder& folder,
                                   const Host& host) {
    metrics::Observers observers;
    auto console = console_of(task, arguments.settings, host);
    if (arguments.settings.logging.mlperf && !folder.logs.empty() && is_first(host)) {
        const std::optional<MlperfBenchmark> benchmark = task.description().mlperf;
        if (!benchmark) throw Error(ErrorKind::unsupported, "--mlperf-logging: MLPerf has no benchmark of this kind");
        // First in the list, so that the events a row causes are printed before the row.
        observers.add(std::make_unique<MlperfLog>(*benchmark, arguments, folder.logs, *host.files, *console));
    }
    add_local_reports(observers, std::move(console), task, arguments.settings, folder, host);
    return observers;
}

std::string introduce(metrics::Observers& observers, const options::ParseResult& arguments, Introduction introduction,
                      const Host& host) {
    const LoggingSettings& logging = arguments.settings.logging;
    const RunFacts& facts = introduction.facts;
    introduction.derived[kSummary] = introduction.summary;
    std::string arguments_text = options::arguments_json(arguments, introduction.derived);
    if (is_emulated(arguments.settings.run)) observers.line(std::string(kEmulatorNotice));
    observers.on(described(introduction, arguments_text, host));
    if (logging.wandb && is_first(host)) add_wandb(observers, logging, facts.folder.name, arguments_text);
    if (logging.tensorboard && !facts.folder.logs.empty())
        add_tensorboard(observers, facts, introduction.events_folder, introduction.resumed_at, *host.files);
    if (!introduction.resumed_at && !facts.folder.logs.empty())
        begin_records(arguments, facts.folder.logs, arguments_text, host);
    return arguments_text;
}

metrics::Observers report_evaluation(const Task& task, const backend::Backend& backend,
                                     const options::ParseResult& arguments, const RunFolder& folder,
                                     std::int64_t samples, const Host& host) {
    const TaskDescription description = task.description();
    Introduction introduction;
    introduction.facts = gather_facts(folder, false);
    introduction.facts.names_ipus = names_ipus(arguments.settings, host);
    introduction.machine = machine_lines(backend, arguments.settings.run);
    introduction.derived = derived_arguments(arguments, description, introduction.facts, samples);
    introduction.summary = summary_block(arguments, description, introduction.facts, nullptr);
    introduction.title = network_title(description);
    introduction.topics = evaluation_topics(task, arguments.settings, samples);
    introduction.io_bits = description.io_bits;
    introduction.events_folder = description.events_folder;
    metrics::Observers observers = report_estimator(task, arguments, folder, host);
    introduce(observers, with_absolute_paths(arguments), std::move(introduction), host);
    return observers;
}

bool ends_after_compiling(const options::Settings& settings, double seconds, metrics::Observers& observers) {
    observers.on(metrics::Duration{metrics::kCompilation, seconds, metrics::compilation_line(seconds)});
    observers.on(metrics::Status{metrics::kCompilationStatus, "compiled"});
    if (settings.device.compile_only) observers.line("Compilation successful; stopping because of --compile-only.");
    return settings.device.compile_only;
}

namespace {

/// Formats a float32 like NumPy: the shortest digits, always with a decimal point.
std::string float_text(double value) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), static_cast<float>(value)).ptr;
    std::string text(digits.data(), end);
    const bool whole = text.find_first_not_of("-0123456789") == std::string::npos;
    return whole ? text + ".0" : text;
}

/// The time in UTC, as in the original.
std::string time_text() {
    return clock_text("%Y-%m-%d-%H:%M:%S", std::time(nullptr), Zone::utc);
}

double sum_of_squares(const HostTensor& tensor) {
    double sum = 0;
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
        sum += tensor.at(i) * tensor.at(i);
    return sum;
}

/// A file has no types, only names: a slot is named after its variable plus one part.
bool is_decayed(const std::string& name, const std::map<std::string, HostTensor>& tensors) {
    constexpr std::string_view kOfNorms[] = {"beta", "gamma", "moving_"};
    const bool slot = tensors.contains(name.substr(0, name.rfind('/')));
    return !slot &&
           std::ranges::none_of(kOfNorms, [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

}  // namespace

double weight_loss(const std::map<std::string, HostTensor>& tensors, double weight_decay) {
    double sum = 0;
    for (const auto& [name, tensor] : tensors) {
        if (is_decayed(name, tensors)) sum += sum_of_squares(tensor);
    }
    return weight_decay / 2 * sum;
}

EstimatorLog::EstimatorLog(double weight_decay, std::vector<weights::Found> checkpoints, weights::Edited edited,
                           const FileSystem& files, metrics::Observer& console)
    : weight_decay_(weight_decay),
      checkpoints_(std::move(checkpoints)),
      edited_(edited),
      files_(files),
      console_(console) {}

void EstimatorLog::handle(const metrics::Progress& progress) {
    constexpr std::int64_t kParts = 10;
    const std::int64_t interval = progress.total < 2 * kParts ? 1 : progress.total / kParts;
    if (progress.done % interval != 0 && progress.done != progress.total) return;
    console_.on(
        metrics::Line{"Evaluation [" + std::to_string(progress.done) + "/" + std::to_string(progress.total) + "]",
                      metrics::Line::To::console});
}

void EstimatorLog::handle(const metrics::Row& logged) {
    const metrics::Record& row = logged.record;
    if (logged.use != metrics::Row::Use::logged || row.table != metrics::kValidation) return;
    const auto found = std::ranges::find(checkpoints_, field_of<std::string>(row, "name"), &weights::Found::name);
    CNNTRAIN_CHECK(found != checkpoints_.end(), "a row of another checkpoint than those that are evaluated");
    const weights::Checkpoint checkpoint = weights::load(files_, found->path, edited_);
    const std::string top_1 = float_text(field_of<double>(row, kTop1Column) / 100);
    const std::string top_5 = float_text(field_of<double>(row, kTop5Column) / 100);
    const std::string loss =
        float_text(field_of<double>(row, kValidationLossColumn) + weight_loss(checkpoint.tensors, weight_decay_));
    const std::string step = std::to_string(row.iteration);
    console_.on(metrics::Line{"Finished evaluation at " + time_text(), metrics::Line::To::console});
    console_.on(metrics::Line{"Saving dict for global step " + step + ": Top-1 accuracy = " + top_1 +
                                  ", Top-5 accuracy = " + top_5 + ", global_step = " + step + ", loss = " + loss,
                              metrics::Line::To::console});
    console_.on(metrics::Line{"Eval results: {'Top-1 accuracy': " + top_1 + ", 'loss': " + loss +
                                  ", 'Top-5 accuracy': " + top_5 + ", 'global_step': " + step + "}",
                              metrics::Line::To::console});
}

namespace {

Topic precision(const TaskDescription& task, const options::Settings& settings) {
    return {"Precision", std::string(spelling(settings.device.precision)) + ", computed in " +
                             std::string(name(task.arithmetic.type)) + " (" + task.arithmetic.reason + "), backend " +
                             std::string(spelling(settings.run.backend)) + ", " +
                             counted(compute_threads(settings.run), "thread")};
}

std::string batch_text(const options::Settings& settings, const schedule::RunPlan& plan, const metrics::Unit& unit) {
    const schedule::BatchPlan batch = batch_plan(settings);
    std::string text = std::to_string(plan.global_batch) + " " + unit.many;
    std::vector<std::string> factors = {std::to_string(batch.micro_batch)};
    if (batch.accumulation > 1) factors.push_back(std::to_string(batch.accumulation) + " accumulated");
    if (batch.replicas > 1) factors.push_back(counted(batch.replicas, "replica"));
    if (batch.processes > 1) factors.push_back(counted(batch.processes, "process", "es"));
    return factors.size() > 1 ? text + " (" + joined(factors, " x ") + ")" : text;
}

}  // namespace

std::string network_title(const TaskDescription& task, const graph::Graph* graph) {
    std::string title = task.title;
    if (!task.details.empty()) title += ", " + task.details;
    return graph == nullptr ? title : title + ", " + counted(nn::parameter_count(*graph), "parameter");
}

std::vector<Topic> training_topics(const Task& task, const options::Settings& settings, const schedule::RunPlan& plan,
                                   std::int64_t training_samples, std::optional<std::int64_t> validation_samples) {
    const metrics::Unit& unit = task.columns().unit;
    const std::string held_out = validation_samples ? std::to_string(*validation_samples) : "no";
    std::vector<Topic> topics;
    topics.push_back({"Data", std::to_string(training_samples) + " training and " + held_out + " validation " +
                                  unit.many + (task.has_real_data() ? "" : ", generated")});
    topics.push_back({"Length", counted(plan.iterations, task.description().update) + " of " +
                                    batch_text(settings, plan, unit) + ", " + short_text(plan.epochs) + " epochs"});
    if (plan.iterations > 0) {
        for (const Topic& topic : task.rate(plan).topics) {
            const bool is_table = topic.name == "Rates";
            if (!is_table) topics.push_back(topic);
        }
    }
    topics.push_back(precision(task.description(), settings));
    return topics;
}

std::vector<Topic> evaluation_topics(const Task& task, const options::Settings& settings, std::int64_t samples) {
    std::vector<Topic> topics;
    topics.push_back({"Data", std::to_string(samples) + " " + task.columns().unit.many +
                                  (task.has_real_data() ? "" : ", generated")});
    topics.push_back({"Weights", settings.main.restore_path.value_or("random")});
    topics.push_back(precision(task.description(), settings));
    return topics;
}

}  // namespace cnntrain::run
