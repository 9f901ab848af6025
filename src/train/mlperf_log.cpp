#include "train/mlperf_log.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "cnntrain/train/assemble.h"
#include "train/describe.h"

namespace cnntrain::train {

namespace {

using Json = nlohmann::ordered_json;

/// A place in this program's source; std::source_location is not known to all tools that read this file.
struct Where {
    std::string_view file;
    unsigned line = 0;

    static Where current(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) { return {file, line}; }
};

constexpr std::string_view kPoint = "POINT_IN_TIME";
constexpr std::string_view kStart = "INTERVAL_START";
constexpr std::string_view kEnd = "INTERVAL_END";

std::int64_t milliseconds_now() {
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
}

/// From the source folder on.
std::string short_file(std::string_view path) {
    const std::size_t at = path.rfind("src/");
    return std::string(at == std::string_view::npos ? path : path.substr(at));
}

/// A whole number as one.
Json number(double value) {
    if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<std::int64_t>(value);
    return value;
}

/// "all/stage0/conv0/weight" -> "conv0_weight".
std::string tensor_name(const std::string& variable) {
    constexpr std::string_view kStem = "stage0_";
    std::string name = variable.substr(variable.find('/') + 1);
    std::ranges::replace(name, '/', '_');
    if (name.starts_with(kStem)) name.erase(0, kStem.size());
    return name;
}

std::string result_path(const config::ParseResult& arguments, const std::string& folder) {
    if (!arguments.settings.logging.mlperf || folder.empty()) return {};
    const std::string seed = seed_was_given(arguments) ? std::to_string(*arguments.settings.device.seed) : "None";
    return folder + "/result_" + seed + ".txt";
}

/// Epochs that are over after this many weight updates.
std::int64_t finished_epochs(const schedule::RunPlan& plan, std::int64_t iteration) {
    return iteration * plan.global_batch / plan.images;
}

double end_learning_rate(const config::Settings& settings, double base) {
    const optim::LearningRateSettings& rate = settings.learning_rate;
    if (rate.schedule != optim::LrSchedule::polynomial) return 0;
    return rate.polynomial_end.value_or(rate.polynomial_end_ratio * base);
}

}  // namespace

/// Writes the lines.
class MlperfLog::Events {
public:
    Events(std::string path, FileSystem& files, metrics::RunLog& log)
        : path_(std::move(path)), files_(files), log_(log) {}

    void point(std::string_view key, const Json& value, const Where& where = Where::current()) {
        write(kPoint, key, value, {}, where);
    }

    void write(std::string_view type, std::string_view key, const Json& value, const Json& extra,
               const Where& where = Where::current()) {
        Json metadata = {{"file", short_file(where.file)}, {"lineno", where.line}};
        for (const auto& [name, item] : extra.items())
            metadata[name] = item;
        const Json event = {{"namespace", "resnet"}, {"time_ms", milliseconds_now()},
                            {"event_type", type},    {"key", key},
                            {"value", value},        {"metadata", metadata}};
        const std::string line = ":::MLLOG " + event.dump();
        log_.console_line(line);
        files_.append(path_, line + "\n");
    }

private:
    std::string path_;
    FileSystem& files_;
    metrics::RunLog& log_;
};

MlperfLog::MlperfLog(const config::ParseResult& arguments, const std::string& folder, FileSystem& files,
                     metrics::RunLog& log)
    : arguments_(arguments), settings_(arguments.settings) {
    const std::string path = result_path(arguments, folder);
    if (path.empty()) return;
    files.make_directories(folder);
    events_ = std::make_unique<Events>(path, files, log);
    const TrainingSettings& training = settings_.training;
    events_->point("cache_clear", true);
    events_->write(kStart, "init_start", nullptr, {});
    events_->point("submission_benchmark", "resnet");
    events_->point("submission_division", "closed");
    events_->point("submission_org", "Graphcore");
    events_->point("submission_status", "onprem");
    events_->point("submission_platform", "POD" + std::to_string(training.replicas));
    events_->point("seed", *settings_.device.seed);
    events_->point("global_batch_size", batch_plan(settings_).global_batch());
    events_->point("gradient_accumulation_steps", training.gradient_accumulation_count);
    events_->point("opt_weight_decay", settings_.optimiser.weight_decay);
    events_->point("opt_learning_rate_warmup_epochs", number(settings_.learning_rate.warmup_epochs));
    const auto span = std::get<std::int64_t>(arguments_.at("BN_span").value);
    events_->point("model_bn_span", span * training.micro_batch_size);
}

MlperfLog::~MlperfLog() = default;

void MlperfLog::prepared(const schedule::RunPlan& plan, std::int64_t train_samples, std::int64_t eval_samples) {
    if (!events_) return;
    events_->point("train_samples", train_samples);
    events_->point("eval_samples", eval_samples);
    optimiser(plan);
}

void MlperfLog::optimiser(const schedule::RunPlan& plan) {
    const optim::OptimiserSettings& settings = settings_.optimiser;
    const bool lars = settings.kind == optim::Optimiser::lars;
    if (!lars && settings.kind != optim::Optimiser::momentum) return;
    const std::string prefix = lars ? "lars_opt_" : "sgd_opt_";
    const double base = optim::base_learning_rate(settings_.learning_rate, plan.global_batch);
    const double warmup = std::floor(static_cast<double>(plan.iterations) * settings_.learning_rate.warmup_epochs /
                                     std::max(1.0, std::round(plan.epochs)));
    events_->point(prefix + "learning_rate_decay_steps", number(static_cast<double>(plan.iterations) - warmup));
    events_->point("opt_name", lars ? "lars" : "sgd");
    events_->point(prefix + "momentum", settings.momentum);
    events_->point(prefix + "weight_decay", lars ? settings.lars.weight_decay : settings.weight_decay);
    events_->point(prefix + "base_learning_rate", base);
    events_->point(prefix + "end_learning_rate", end_learning_rate(settings_, base));
    const bool polynomial = settings_.learning_rate.schedule == optim::LrSchedule::polynomial;
    events_->point(prefix + "learning_rate_decay_poly_power",
                   polynomial ? number(settings_.learning_rate.polynomial_power) : Json(0));
    if (lars) events_->point("lars_epsilon", settings.lars.epsilon);
}

void MlperfLog::weights_initialised(const graph::Graph& graph) {
    if (!events_) return;
    for (const graph::ValueId id : graph.values_with_role(graph::Role::parameter)) {
        events_->write(kPoint, "weights_initialization", nullptr, {{"tensor", tensor_name(graph.value(id).name)}});
    }
}

void MlperfLog::training_begins(const schedule::RunPlan& plan, std::int64_t first_iteration) {
    if (!events_) return;
    first_epoch_ = finished_epochs(plan, first_iteration) + 1;
    open_epoch_ = first_epoch_;
    running_ = true;
    events_->write(kEnd, "init_stop", nullptr, {});
    events_->write(kStart, "run_start", nullptr, {});
    const double epochs = std::max(1.0, std::ceil(plan.epochs)) - static_cast<double>(first_epoch_ - 1);
    events_->write(kStart, "block_start", nullptr,
                   {{"first_epoch_num", first_epoch_}, {"epoch_count", number(epochs)}});
    events_->write(kStart, "epoch_start", nullptr, {{"epoch_num", open_epoch_}});
}

void MlperfLog::trained(const schedule::RunPlan& plan, std::int64_t iteration) {
    if (!events_ || iteration >= plan.iterations) return;
    while (open_epoch_ <= finished_epochs(plan, iteration)) {
        events_->write(kEnd, "epoch_stop", nullptr, {{"epoch_num", open_epoch_}});
        events_->write(kStart, "epoch_start", nullptr, {{"epoch_num", ++open_epoch_}});
    }
}

void MlperfLog::training_ends() {
    if (!events_ || open_epoch_ == 0) return;
    events_->write(kEnd, "epoch_stop", nullptr, {{"epoch_num", open_epoch_}});
    events_->write(kEnd, "block_stop", nullptr, {{"first_epoch_num", first_epoch_}});
    open_epoch_ = 0;
}

void MlperfLog::validation_begins() {
    if (!events_) return;
    events_->write(kStart, "block_start", nullptr, {{"first_epoch_num", first_epoch_}});
}

void MlperfLog::evaluation_begins(double epoch) {
    if (!events_) return;
    events_->write(kStart, "eval_start", nullptr, {{"epoch_num", number(std::round(epoch))}});
}

void MlperfLog::evaluation_ends(double epoch, double accuracy) {
    if (!events_) return;
    const Json which = {{"epoch_num", number(std::round(epoch))}};
    events_->write(kEnd, "eval_stop", nullptr, which);
    events_->write(kPoint, "eval_accuracy", accuracy / 100, which);
    succeeded_ = succeeded_ || accuracy > kMlperfTarget;
}

void MlperfLog::validation_ends() {
    if (!events_) return;
    events_->write(kEnd, "block_stop", nullptr, {{"first_epoch_num", first_epoch_}});
}

void MlperfLog::run_ends() {
    if (!events_ || !running_) return;
    running_ = false;
    events_->write(kEnd, "run_stop", nullptr, {{"status", succeeded_ ? "success" : "aborted"}});
}

}  // namespace cnntrain::train
