#include "run/reports/describe.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <sstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "cnntrain/base/processor.h"
#include "cnntrain/base/text.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/optimiser.h"
#include "cnntrain/options/option.h"
#include "cnntrain/options/settings.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/text_reports.h"

namespace cnntrain::run {

using options::Settings;

namespace {

std::string_view python(bool value) {
    return value ? "True" : "False";
}

options::ResolvedOption& option(options::ParseResult& arguments, std::string_view key) {
    return arguments.options[static_cast<std::size_t>(&arguments.at(key) - arguments.options.data())];
}

void write_device(std::ostream& out, const Settings& settings, const backend::Arithmetic& arithmetic,
                  const RunFacts& facts) {
    const bool rounding_off = settings.device.stochastic_rounding == backend::StochasticRounding::off;
    out << "Device\n Precision: " << spelling(settings.device.precision) << (rounding_off ? "_noSR" : "") << '\n';
    out << " Arithmetic: " << name(arithmetic.type) << " (" << arithmetic.reason << ")\n";
    const bool on_ipus = settings.run.backend == backend::BackendKind::ipu;
    if (facts.names_ipus) out << " Half partials: " << python(on_ipus && settings.ipu.half_partials) << '\n';
    out << " Backend: " << spelling(settings.run.backend) << '\n';
    if (on_ipus && settings.main.trains)
        out << " IPUs: " << ipus_text(update_plan(settings), is_emulated(settings.run)) << '\n';
    out << " " << facts.hostname << '\n';
    out << " " << facts.datetime << '\n';
}

std::string absolute(const std::string& path) {
    return std::filesystem::absolute(path).lexically_normal().string();
}

/// Makes each comma-separated pattern absolute; a path that starts with ~ counts as absolute.
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

bool names_ipus(const Settings& settings, const Host& host) {
    return host.is_original_line || settings.run.backend == backend::BackendKind::ipu;
}

RunFacts gather_facts(RunFolder folder, bool restoring) {
    std::array<char, 256> host{};
    if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
    return {std::move(folder), host.data(), clock_text("%Y-%m-%d %H:%M:%S"), restoring};
}

options::ParseResult with_seed(options::ParseResult arguments, std::int64_t seed) {
    arguments.settings.device.seed = seed;
    options::ResolvedOption& entry = option(arguments, "seed");
    entry.value = seed;
    entry.source = options::Source::adjusted;
    return arguments;
}

options::ParseResult with_absolute_paths(options::ParseResult arguments) {
    for (options::ResolvedOption& entry : arguments.options) {
        auto* const path = std::get_if<std::string>(&entry.value);
        if (!is_path(*entry.option) || path == nullptr || path->empty()) continue;
        *path = entry.option->type == options::Type::patterns ? absolute_patterns(*path) : absolute(*path);
    }
    return arguments;
}

bool seed_was_given(const options::ParseResult& arguments) {
    const options::Source source = arguments.at("seed").source;
    return source != options::Source::default_value && source != options::Source::adjusted;
}

std::string summary_block(const options::ParseResult& arguments, const TaskDescription& task, const RunFacts& facts,
                          const schedule::RunPlan* plan, const std::string& checkpoints) {
    const Settings& settings = arguments.settings;
    std::ostringstream out;
    out << '\n' << task.summary_head;
    if (plan != nullptr) {
        out << task.summary_training;
        if (!plan->validate) out << "No Validation\n";
    }
    if (plan == nullptr || plan->validate)
        out << "Validation\n Batch Size: " << settings.training.micro_batch_size << '\n';
    if (plan != nullptr && facts.names_ipus)
        out << "Using Infeeds\n Max Batches Per Step: " << plan->iterations_per_host_step << '\n';
    write_device(out, settings, task.arithmetic, facts);
    out << "Logging\n Name: " << facts.folder.name << '\n';
    const bool saves = plan != nullptr || !facts.folder.logs.empty();
    if (saves)
        out << " Saving to " << (facts.folder.logs.empty() ? facts.folder.checkpoints : facts.folder.logs) << '\n';
    if (!checkpoints.empty()) out << " Checkpoints: " << checkpoints << '\n';
    out << task.summary_tail;
    return out.str();
}

std::map<std::string, options::Value> derived_arguments(const options::ParseResult& arguments,
                                                        const TaskDescription& task, const RunFacts& facts,
                                                        std::optional<std::int64_t> validation_samples) {
    const Settings& settings = arguments.settings;
    const std::int64_t batch = batch_plan(settings).global_batch();
    const bool unscales_gradient = optim::unscales_gradient(settings.optimiser.rule);
    const auto optional_text = [](const std::string& value) -> options::Value {
        if (value.empty()) return options::Unset{};
        return value;
    };
    std::map<std::string, options::Value> derived = {
        {"training", settings.main.trains},
        {"restoring", facts.restoring},
        {"command", std::string(options::name(arguments.command))},
        {"use_popdist", arguments.launch.replicas.has_value()},
        {"total_replicas", settings.training.replicas * settings.training.processes},
        {"distributed_worker_count", settings.training.processes},
        {"distributed_worker_index", arguments.launch.index},
        {"distributed_cluster", options::Unset{}},
        {"wd_exclude", settings.optimiser.weight_decay_exclude},
        {"global_batch_size", batch},
        {"lr_scale", unscales_gradient ? 1.0 : 1.0 / settings.optimiser.loss_scaling},
        {"grad_scale", unscales_gradient ? 1.0 / settings.optimiser.loss_scaling : 1.0},
        {"name", facts.folder.name},
        {"validation_global_batch_size", settings.training.micro_batch_size},
        {"hostname", facts.hostname},
        {"datetime", facts.datetime},
        {"poplar_version", options::Unset{}},
        {"arithmetic", std::string(name(task.arithmetic.type))},
        {"seed_specified", seed_was_given(arguments)},
        {"program_version", version_line()},
        {"logs_path", optional_text(facts.folder.logs)},
        {"checkpoint_path", facts.folder.checkpoints + "/ckpt"},
    };
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

std::string version_line() {
    return "cnntrain " CNNTRAIN_VERSION;
}

std::vector<std::string> machine_lines(const backend::Backend& backend, const RunSettings& settings) {
    const Processor processor = this_processor();
    const CoreBudget budget = core_budget(settings);
    const backend::Arithmetic& fastest = backend.fastest_arithmetic();
    std::vector<std::string> lines = {
        "Processor: " + to_string(processor),
        "Cores: " + to_string(count_cores()) + "; threads: " + std::to_string(budget.compute_threads) + " compute, " +
            std::to_string(budget.input_threads) + " prepare input",
        "Backend: " + std::string(backend.name()) + ", " + backend.library(),
        "Fastest arithmetic of 16 bits: " + std::string(name(fastest.type)) + " (" + fastest.reason + ")",
    };
    if (backend.info().emulated) lines.at(2) += "; no IPU";
    if (const std::string hidden = hidden_instructions(processor); !hidden.empty())
        lines.push_back("Faster: " + hidden);
    return lines;
}

std::string text(double value) {
    return options::to_string(options::Value{value});
}

std::string short_text(double value) {
    return formatted("%.5g", value);
}

std::string some_of(const std::vector<std::int64_t>& first, std::int64_t count, std::int64_t last) {
    std::string result = joined(first, ", ", [](std::int64_t value) { return std::to_string(value); });
    if (static_cast<std::size_t>(count) == first.size()) return result;
    if (static_cast<std::size_t>(count) > first.size() + 1) result += ", ...";
    return result + ", " + std::to_string(last) + " (" + std::to_string(count) + " in all)";
}

namespace {

std::string rule_text(const optim::OptimiserSettings& how) {
    const std::string name(spelling(how.rule));
    if (optim::keeps_moments(how.rule))
        return name + ", betas " + text(how.adam.beta1) + " and " + text(how.adam.beta2);
    return graph::facts_of(how.rule).slots == 0 ? name : name + ", momentum " + text(how.momentum);
}

}  // namespace

std::string optimiser_text(const optim::OptimiserSettings& settings) {
    const bool by_step = !settings.loss_scaling_by_step.empty();
    return rule_text(settings) + ", weight decay " + text(settings.weight_decay) + ", loss scaling " +
           (by_step ? "by step" : text(settings.loss_scaling)) +
           (settings.layer_decay == 1 ? "" : ", layer decay " + text(settings.layer_decay));
}

namespace {

constexpr double kFirstWindowSeconds = 3;
constexpr double kLaterWindowSeconds = 60;

}  // namespace

std::string busy_machine_warning(const Competition& found, int threads, int processors) {
    if (threads <= 1 || !found.is_felt()) return "";
    const int better = std::min(found.room(processors), threads - 1);
    return formatted(
        "other programs use %.1f of the %d processors, and the %d compute threads of this run wait %.0f %% of the time "
        "for a processor; end the other programs, or try --threads %d",
        found.others, processors, threads, 100 * found.queued_share, better);
}

BusyMachine::BusyMachine(int threads, int processors, std::function<void(const std::string&)> warn)
    : threads_(threads), processors_(processors), warn_(std::move(warn)), window_seconds_(kFirstWindowSeconds) {}

void BusyMachine::handle(const metrics::Progress& /*progress*/) {
    if (!warn_ || threads_ <= 1) return;
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    const double now = std::chrono::duration<double>(time).count();
    if (since_ && now < next_look_) return;
    const ProcessorTimes times = processor_times();
    if (since_) {
        const std::string warning = busy_machine_warning(competition(*since_, times), threads_, processors_);
        if (!warning.empty()) std::exchange(warn_, nullptr)(warning);
        window_seconds_ = kLaterWindowSeconds;
    }
    since_ = times;
    next_look_ = now + window_seconds_;
}

}  // namespace cnntrain::run
