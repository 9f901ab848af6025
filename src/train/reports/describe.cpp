#include "train/reports/describe.h"

#include <unistd.h>

#include <array>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>
#include <vector>

#include "cnntrain/nn/model.h"
#include "cnntrain/optim/optimiser.h"
#include "cnntrain/train/assemble.h"

namespace cnntrain::train {

using config::Settings;

namespace {

std::string text(double value) {
    return config::to_string(config::Value{value});
}

std::string text(const std::vector<double>& values) {
    std::string result;
    for (const double value : values) {
        result += (result.empty() ? "" : ", ") + text(value);
    }
    return "[" + result + "]";
}

std::string text(const std::vector<std::string>& values) {
    std::string result;
    for (const std::string& value : values) {
        result += (result.empty() ? "'" : ", '") + value + "'";
    }
    return "[" + result + "]";
}

std::string_view python(bool value) {
    return value ? "True" : "False";
}

void write_warmup(std::ostream& out, double epochs) {
    if (epochs > 0) {
        out << " Warmup: " << text(epochs) << " epochs\n";
    } else {
        out << " No warmup\n";
    }
}

void write_learning_rate(std::ostream& out, const optim::LearningRateSettings& settings) {
    switch (settings.schedule) {
        case optim::LrSchedule::stepped:
            out << "Stepped LR schedule\n";
            write_warmup(out, settings.warmup_epochs);
            out << " Drops at " << text(settings.stepped_fractions) << '\n';
            out << " Decay factor " << text(settings.stepped_decay) << '\n';
            return;
        case optim::LrSchedule::cosine:
            out << "Cosine LR schedule\n";
            write_warmup(out, settings.warmup_epochs);
            return;
        case optim::LrSchedule::exponential:
            out << "Exponential LR schedule\n";
            write_warmup(out, settings.warmup_epochs);
            out << " Decay Rate: " << text(settings.exponential_decay_rate) << '\n';
            out << " Decayed " << settings.exponential_drops << " times)\n";
            return;
        case optim::LrSchedule::polynomial:
            out << "Polynomial LR schedule\n";
            out << " Decay Exponent: " << text(settings.polynomial_power) << '\n';
            if (settings.polynomial_end) {
                out << " End LR: " << text(*settings.polynomial_end) << '\n';
            } else {
                out << " End LR ratio: " << text(settings.polynomial_end_ratio) << '\n';
            }
            out << " Warmup: " << text(settings.warmup_epochs) << " epochs\n";
            return;
        case optim::LrSchedule::gradual:
            out << "Gradual warmup, then linear LR schedule\n";
            out << " Warmup: " << settings.warmup_iterations << " iterations from " << text(settings.warmup_start)
                << '\n';
            out << " End LR: " << text(settings.polynomial_end.value_or(0)) << '\n';
            return;
    }
}

double base_exponent(const Settings& settings) {
    const std::int64_t batch = batch_plan(settings).global_batch();
    return std::log2(optim::base_learning_rate(settings.learning_rate, batch) / static_cast<double>(batch));
}

void write_optimiser(std::ostream& out, const optim::OptimiserSettings& settings, std::int64_t global_batch) {
    switch (settings.kind) {
        case optim::Optimiser::sgd:
            out << "SGD\n";
            return;
        case optim::Optimiser::momentum:
            out << "SGD with Momentum\n Momentum: " << text(settings.momentum) << '\n';
            return;
        case optim::Optimiser::nesterov:
            out << "SGD with Nesterov Momentum\n Momentum: " << text(settings.momentum) << '\n';
            return;
        case optim::Optimiser::rmsprop:
            out << "RMSprop\n Momentum: " << text(settings.momentum) << '\n';
            out << " Decay: " << text(optim::rmsprop_decay(settings, global_batch)) << '\n';
            out << " Epsilon: " << text(settings.rmsprop_epsilon) << '\n';
            return;
        case optim::Optimiser::lars:
            out << "LARS\n Momentum: " << text(settings.momentum) << '\n';
            out << " Epsilon: " << text(settings.lars.epsilon) << '\n';
            out << " Skip List: " << text(settings.lars.skip) << '\n';
            return;
        default:  // Adam's family
            out << config::name(settings.kind) << "\n Betas: " << text(settings.adam.beta1) << ' '
                << text(settings.adam.beta2) << '\n';
            out << " Epsilon: " << text(settings.adam.epsilon) << '\n';
    }
}

void write_training(std::ostream& out, const Settings& settings) {
    const schedule::ScheduleSettings& training = settings.training;
    const schedule::BatchPlan batch = batch_plan(settings);
    out << "Training\n Batch Size: " << batch.global_batch() << '\n';
    if (training.pipeline) out << "  Pipelined over " << batch.stages << " stages\n";
    if (batch.accumulation > 1) out << "  Gradients accumulated over " << batch.accumulation << " fwds/bwds passes \n";
    const std::int64_t replicas = batch.replicas * batch.processes;
    if (replicas > 1) out << "  Training on " << replicas << " replicas \n";
    out << " Base Learning Rate: 2**" << text(base_exponent(settings)) << '\n';
    out << " Weight Decay: " << text(settings.optimiser.weight_decay) << '\n';
    out << " Loss Scaling: " << text(settings.optimiser.loss_scaling) << '\n';
    if (training.iterations) {
        out << " Iterations: " << *training.iterations << '\n';
    } else {
        out << " Epochs: " << text(training.epochs) << '\n';
    }
    write_optimiser(out, settings.optimiser, batch.global_batch());
    write_learning_rate(out, settings.learning_rate);
}

config::ResolvedOption& option(config::ParseResult& arguments, std::string_view key) {
    return arguments.options[static_cast<std::size_t>(&arguments.at(key) - arguments.options.data())];
}

void write_device(std::ostream& out, const Settings& settings, const backend::Arithmetic& arithmetic,
                  const RunFacts& facts) {
    const bool rounding_off = settings.device.stochastic_rounding == backend::StochasticRounding::off;
    out << "Device\n Precision: " << config::name(settings.device.precision) << (rounding_off ? "_noSR" : "") << '\n';
    out << " Arithmetic: " << name(arithmetic.type) << " (" << arithmetic.reason << ")\n";
    out << " Half partials: " << python(false) << '\n';
    out << " Backend: " << config::name(settings.run.backend) << '\n';
    out << " " << facts.hostname << '\n';
    out << " " << facts.datetime << '\n';
}

}  // namespace

namespace {

std::string absolute(const std::string& path) {
    return std::filesystem::absolute(path).lexically_normal().string();
}

/// Of patterns that are separated by commas; a home folder (~) is one already.
std::string absolute_patterns(const std::string& patterns) {
    std::istringstream parts(patterns);
    std::string result;
    for (std::string part; std::getline(parts, part, ',');) {
        if (!part.empty() && !part.starts_with('~')) part = absolute(part);
        result += (result.empty() ? "" : ",") + part;
    }
    return result;
}

}  // namespace

RunFacts gather_facts(RunFolder folder, bool restoring) {
    std::array<char, 256> host{};
    if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    localtime_r(&now, &local);
    std::array<char, 32> date{};
    std::strftime(date.data(), date.size(), "%Y-%m-%d %H:%M:%S", &local);
    return {std::move(folder), host.data(), date.data(), restoring};
}

config::ParseResult with_seed(config::ParseResult arguments, std::int64_t seed) {
    arguments.settings.device.seed = seed;
    config::ResolvedOption& entry = option(arguments, "seed");
    entry.value = seed;
    entry.source = config::Source::adjusted;
    return arguments;
}

config::ParseResult with_absolute_paths(config::ParseResult arguments) {
    const bool text = arguments.command == config::Command::pretrain;
    const std::vector<const char*> keys =
        text ? std::vector{"init_checkpoint", "restore_dir"} : std::vector{"data_dir", "init_path", "restore_path"};
    for (const char* key : keys) {
        auto* path = std::get_if<std::string>(&option(arguments, key).value);
        if (path != nullptr && !path->empty()) *path = absolute(*path);
    }
    for (const char* key : {"train_file", "valid_file"}) {
        auto* patterns = text ? std::get_if<std::string>(&option(arguments, key).value) : nullptr;
        if (patterns != nullptr) *patterns = absolute_patterns(*patterns);
    }
    return arguments;
}

bool trains(const config::ParseResult& arguments) {
    if (arguments.command == config::Command::pretrain) return !arguments.settings.pretraining.evaluates;
    return arguments.command == config::Command::train;
}

bool seed_was_given(const config::ParseResult& arguments) {
    const config::Source source = arguments.at("seed").source;
    return source != config::Source::default_value && source != config::Source::adjusted;
}

std::string summary_block(const config::ParseResult& arguments, const TaskDescription& task, const RunFacts& facts,
                          const schedule::RunPlan* plan) {
    const Settings& settings = arguments.settings;
    std::ostringstream out;
    out << '\n' << task.summary_head;
    if (plan != nullptr) {
        if (task.summary_training.empty()) {
            write_training(out, settings);
        } else {
            out << task.summary_training;
        }
        if (!plan->validate) out << "No Validation\n";
    }
    if (plan == nullptr || plan->validate)
        out << "Validation\n Batch Size: " << settings.training.micro_batch_size << '\n';
    if (plan != nullptr) out << "Using Infeeds\n Max Batches Per Step: " << plan->iterations_per_host_step << '\n';
    write_device(out, settings, task.arithmetic, facts);
    out << "Logging\n Name: " << facts.folder.name << '\n';
    out << " Saving to " << (facts.folder.logs.empty() ? facts.folder.checkpoints : facts.folder.logs) << '\n';
    out << task.summary_tail;
    return out.str();
}

std::map<std::string, config::Value> derived_arguments(const config::ParseResult& arguments,
                                                       const TaskDescription& task, const RunFacts& facts,
                                                       std::optional<std::int64_t> validation_samples) {
    const Settings& settings = arguments.settings;
    const std::int64_t batch = batch_plan(settings).global_batch();
    const bool unscales_gradient = optim::unscales_gradient(settings.optimiser.kind);
    const auto optional_text = [](const std::string& value) -> config::Value {
        if (value.empty()) return std::monostate{};
        return value;
    };
    const bool text = arguments.command == config::Command::pretrain;
    std::map<std::string, config::Value> derived = {
        {"training", trains(arguments)},
        {"restoring", facts.restoring},
        {"command", std::string(config::name(arguments.command))},
        {"use_popdist", arguments.launch.replicas.has_value()},
        {"total_replicas", settings.training.replicas * settings.training.processes},
        {"distributed_worker_count", settings.training.processes},
        {"distributed_worker_index", arguments.launch.index},
        {"distributed_cluster", std::monostate{}},
        {"wd_exclude", settings.optimiser.weight_decay_exclude},
        {"global_batch_size", batch},
        {"lr_scale", unscales_gradient ? 1.0 : 1.0 / settings.optimiser.loss_scaling},
        {"grad_scale", unscales_gradient ? 1.0 / settings.optimiser.loss_scaling : 1.0},
        {"name", facts.folder.name},
        {"validation_global_batch_size", settings.training.micro_batch_size},
        {"hostname", facts.hostname},
        {"datetime", facts.datetime},
        {"poplar_version", std::monostate{}},
        {"arithmetic", std::string(name(task.arithmetic.type))},
        {"seed_specified", seed_was_given(arguments)},
        {"logs_path", optional_text(facts.folder.logs)},
        {"checkpoint_path", facts.folder.checkpoints + "/ckpt"},
    };
    if (!text) derived["warmup"] = optim::warms_up(settings.learning_rate);
    if (validation_samples) {
        derived["validation_iterations"] = std::int64_t{1};
        derived["validation_device_iterations"] =
            schedule::make_validation_plan(*validation_samples, settings.training.micro_batch_size).batches;
    }
    derived.insert(task.arguments.begin(), task.arguments.end());
    return derived;
}

std::string option_dictionary(const std::string& arguments_json) {
    nlohmann::json dictionary = nlohmann::json::parse(arguments_json);
    dictionary.erase("summary_str");
    return dictionary.dump();
}

std::string variable_list(const graph::Graph& graph) {
    std::string result = "Trainable Variables:\n";
    for (const graph::ValueId id : graph.values_with_role(graph::Role::parameter)) {
        const graph::Value& variable = graph.value(id);
        result += variable.name + " " + to_string(variable.desc) + "\n";
    }
    return result + "Total Parameters:" + std::to_string(nn::parameter_count(graph)) + "\n";
}

}  // namespace cnntrain::train
