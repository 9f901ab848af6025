#include "train/reports/mlperf_log.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/train/stages.h"
#include "train/reports/describe.h"

namespace cnntrain::train {
namespace {

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

std::string result_path(const config::ParseResult& arguments, const std::string& folder) {
    const std::string seed = seed_was_given(arguments) ? std::to_string(*arguments.settings.device.seed) : "None";
    return folder + "/result_" + seed + ".txt";
}

Json json_of(const config::Value& value) {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
    return config::to_string(value);
}

double number_in(const metrics::Record& row, const std::string& column) {
    for (const metrics::Field& field : row.fields) {
        if (field.name == column) return std::get<double>(field.value);
    }
    throw Error(ErrorKind::internal, "a validation row has no column " + column);
}

}  // namespace

/// Writes the log lines.
class MlperfLog::Events {
public:
    Events(std::string name, std::string path, FileSystem& files, metrics::Observer& console)
        : name_(std::move(name)), path_(std::move(path)), files_(files), console_(console) {}

    void point(std::string_view key, const Json& value, const Where& where = Where::current()) {
        write(kPoint, key, value, {}, where);
    }

    void write(std::string_view type, std::string_view key, const Json& value, const Json& extra,
               const Where& where = Where::current()) {
        Json metadata = {{"file", short_file(where.file)}, {"lineno", where.line}};
        for (const auto& [name, item] : extra.items())
            metadata[name] = item;
        const Json event = {{"namespace", name_}, {"time_ms", milliseconds_now()}, {"event_type", type}, {"key", key},
                            {"value", value},     {"metadata", metadata}};
        const std::string line = ":::MLLOG " + event.dump();
        console_.console_line(line);
        files_.append(path_, line + "\n");
    }

private:
    std::string name_;  // of the benchmark
    std::string path_;
    FileSystem& files_;
    metrics::Observer& console_;
};

MlperfLog::MlperfLog(MlperfBenchmark benchmark, const config::ParseResult& arguments, const std::string& folder,
                     FileSystem& files, metrics::Observer& console)
    : benchmark_(std::move(benchmark)),
      settings_(arguments.settings),
      events_(std::make_unique<Events>(benchmark_.name, result_path(arguments, folder), files, console)) {
    files.make_directories(folder);
    const TrainingSettings& training = settings_.training;
    events_->point("cache_clear", true);
    events_->write(kStart, "init_start", nullptr, {});
    events_->point("submission_benchmark", benchmark_.name);
    events_->point("submission_division", "closed");
    events_->point("submission_org", "Graphcore");
    events_->point("submission_status", "onprem");
    events_->point("submission_platform", "POD" + std::to_string(training.replicas * training.processes));
    events_->point("seed", *settings_.device.seed);
    events_->point("global_batch_size", batch_plan(settings_).global_batch());
    events_->point("gradient_accumulation_steps", training.gradient_accumulation_count);
    events_->point("opt_weight_decay", settings_.optimiser.weight_decay);
    events_->point("opt_learning_rate_warmup_epochs", number(benchmark_.warmup_epochs));
    for (const auto& [key, value] : benchmark_.facts)
        events_->point(key, json_of(value));
}

MlperfLog::~MlperfLog() = default;

void MlperfLog::training_planned(const metrics::TrainingSize& size) {
    size_ = size;
    events_->point("train_samples", size_.training_samples);
    events_->point("eval_samples", size_.validation_samples);
    optimiser();
}

void MlperfLog::optimiser() {
    const optim::OptimiserSettings& settings = settings_.optimiser;
    const bool lars = settings.rule == graph::UpdateRule::lars;
    const bool momentum = settings.rule == graph::UpdateRule::momentum || settings.rule == graph::UpdateRule::nesterov;
    if (!lars && !momentum) return;
    const std::string prefix = lars ? "lars_opt_" : "sgd_opt_";
    const MlperfRate rate = benchmark_.rate(size_);
    events_->point(prefix + "learning_rate_decay_steps",
                   number(static_cast<double>(size_.iterations) - rate.warmup_iterations));
    events_->point("opt_name", lars ? "lars" : "sgd");
    events_->point(prefix + "momentum", settings.momentum);
    events_->point(prefix + "weight_decay", lars ? settings.lars.weight_decay : settings.weight_decay);
    events_->point(prefix + "base_learning_rate", rate.base);
    events_->point(prefix + "end_learning_rate", rate.end);
    events_->point(prefix + "learning_rate_decay_poly_power", number(rate.decay_power));
    if (lars) events_->point("lars_epsilon", settings.lars.epsilon);
}

void MlperfLog::weights_initialised(const std::vector<std::string>& parameters) {
    for (const std::string& name : parameters)
        events_->write(kPoint, "weights_initialization", nullptr, {{"tensor", tensor_name(name)}});
}

std::int64_t MlperfLog::finished_epochs(std::int64_t iteration) const {
    return iteration * size_.global_batch / size_.training_samples;
}

void MlperfLog::training_began(std::int64_t iteration) {
    first_epoch_ = finished_epochs(iteration) + 1;
    open_epoch_ = first_epoch_;
    running_ = true;
    events_->write(kEndMark, "init_stop", nullptr, {});
    events_->write(kStart, "run_start", nullptr, {});
    const double epochs = std::max(1.0, std::ceil(size_.epochs)) - static_cast<double>(first_epoch_ - 1);
    events_->write(kStart, "block_start", nullptr,
                   {{"first_epoch_num", first_epoch_}, {"epoch_count", number(epochs)}});
    events_->write(kStart, "epoch_start", nullptr, {{"epoch_num", open_epoch_}});
}

void MlperfLog::host_step_ended(std::int64_t iteration) {
    if (iteration >= size_.iterations) return;
    while (open_epoch_ <= finished_epochs(iteration)) {
        events_->write(kEndMark, "epoch_stop", nullptr, {{"epoch_num", open_epoch_}});
        events_->write(kStart, "epoch_start", nullptr, {{"epoch_num", ++open_epoch_}});
    }
}

void MlperfLog::training_finished() {
    events_->write(kEndMark, "epoch_stop", nullptr, {{"epoch_num", open_epoch_}});
    events_->write(kEndMark, "block_stop", nullptr, {{"first_epoch_num", first_epoch_}});
}

void MlperfLog::validation_began() {
    events_->write(kStart, "block_start", nullptr, {{"first_epoch_num", first_epoch_}});
}

void MlperfLog::evaluation_began(double epoch) {
    evaluated_epoch_ = std::round(epoch);
    events_->write(kStart, "eval_start", nullptr, {{"epoch_num", number(evaluated_epoch_)}});
}

void MlperfLog::row(const metrics::Record& row) {
    if (row.table != metrics::kValidation) return;
    const double quality = number_in(row, benchmark_.quality);
    const Json which = {{"epoch_num", number(evaluated_epoch_)}};
    events_->write(kEndMark, "eval_stop", nullptr, which);
    events_->write(kPoint, "eval_accuracy", quality / 100, which);
    succeeded_ = succeeded_ || quality > benchmark_.target;
}

void MlperfLog::validation_ended() {
    events_->write(kEndMark, "block_stop", nullptr, {{"first_epoch_num", first_epoch_}});
}

void MlperfLog::run_ended() {
    if (!running_) return;
    running_ = false;
    events_->write(kEndMark, "run_stop", nullptr, {{"status", succeeded_ ? "success" : "aborted"}});
}

}  // namespace cnntrain::train
