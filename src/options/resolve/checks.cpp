// Decides where options have an effect: in which commands, on which backends and data, with which other options. Users
// get a notice about each option that has none.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "cnntrain/base/processor.h"
#include "cnntrain/base/text.h"
#include "cnntrain/options/parse.h"
#include "options/read/read.h"

namespace cnntrain::options {
namespace {

std::string commands_reason(std::uint32_t commands) {
    std::vector<std::string> names;
    for (const auto& [command, name] : {std::pair{Command::train, "training"},
                                        {Command::validation, "validation"},
                                        {Command::inference, "inference"}}) {
        if ((commands & bit(command)) != 0) names.emplace_back(name);
    }
    return "it is for " + listed(names);
}

bool is_met(const Need& need, const OptionValues& values) {
    if (!values.has(need.key)) return true;
    const ResolvedOption other = values.at(need.key);
    return allows(need, *other.option, other.value);
}

std::string needs_reason(const std::vector<Need>& needs, const OptionValues& values) {
    std::vector<std::string> others;
    for (const Need& need : needs) {
        const std::vector<std::string> choices(need.values.begin(), need.values.end());
        const std::string choice = choices.empty() ? "" : " " + listed(choices, "or");
        others.push_back(documented_flag(values.option(need.key)) + choice);
    }
    return "it needs " + listed(others, "or");
}

}  // namespace

std::string idle_reason(const Option& option, const Resolution& run) {
    const Settings& settings = run.settings();
    const Acts& acts = option.acts;
    if (!acts.never.empty()) return std::string(acts.never);
    const bool on_ipu = settings.run.backend == backend::BackendKind::ipu;
    if (on_ipu && !acts.never_on_ipu.empty()) return std::string(acts.never_on_ipu);
    if ((acts.in & bit(run.command)) == 0) return commands_reason(acts.in);
    const bool asks_data = (acts.on_in & bit(run.command)) != 0 && run.task.data_reason != nullptr;
    if (std::string reason = asks_data ? run.task.data_reason(option, run) : ""; !reason.empty()) return reason;
    if (acts.processes == Processes::several_or_replicas && on_ipu) {
        if (settings.training.replicas == 1) return "it needs several --replicas";
    } else if (acts.processes != Processes::any && settings.training.processes == 1) {
        return "it needs several processes (mpirun, srun or cnntrain poprun)";
    }
    const auto met = [&](const Need& need) { return is_met(need, run.values); };
    if (!acts.needs.empty() && std::ranges::none_of(acts.needs, met)) return needs_reason(acts.needs, run.values);
    return "";
}

namespace {

/// No notice is due for an option from arguments.json, because the original run gave it already. A configuration serves
/// all commands and may name a data folder that this run does not read, so neither of these is reported.
bool needs_no_word(const Option& option, Command command, Source source) {
    if (source == Source::command_line) return false;
    if (source == Source::arguments) return true;
    return (option.acts.in & bit(command)) == 0 || option.names == Names::data;
}

/// Flags grouped by reason; each group is one notice.
using IdleFlags = std::vector<std::pair<std::string, std::vector<std::string>>>;

void note(IdleFlags& idle, const std::string& reason, std::string flag) {
    auto found = std::ranges::find(idle, reason, [](const auto& entry) { return entry.first; });
    if (found == idle.end()) found = idle.insert(idle.end(), {reason, {}});
    found->second.push_back(std::move(flag));
}

std::string plural(std::string reason) {
    if (reason.starts_with("it is ")) return "they are " + reason.substr(6);
    if (reason.starts_with("it needs ")) return "they need " + reason.substr(9);
    return reason;
}

}  // namespace

std::string backend_names(std::uint32_t backends) {
    if (backends == kIpu) return "IPUs";
    std::vector<std::string> words;
    constexpr auto kNames = spellings(backend::BackendKind{});
    for (std::size_t i = 0; i < kNames.size(); ++i) {
        if ((backends & (1U << i)) != 0) words.emplace_back(kNames[i]);
    }
    return "--backend " + listed(words, "or");
}

bool steers_backend(const Option& option, const OptionValues& values) {
    return (option.acts.on_backends & bit(values.settings().run.backend)) != 0;
}

void notice_idle_options(Resolution& run) {
    IdleFlags idle;
    std::map<std::uint32_t, std::string> for_others;  // flags by the set of backends that they steer
    for (const ResolvedOption& entry : run.values.all()) {
        const Option& option = *entry.option;
        if (!given(entry.source) || entry.value == option.fallback) continue;
        if (!steers_backend(option, run.values)) {
            std::string& flags = for_others[option.acts.on_backends];
            flags += (flags.empty() ? "" : " ") + documented_flag(option);
            continue;
        }
        const std::string reason = idle_reason(option, run);
        if (reason.empty() || needs_no_word(option, run.command, entry.source)) continue;
        note(idle, reason, documented_flag(option));
    }
    for (const auto& [reason, flags] : idle) {
        run.notices.push_back(flags.size() == 1 ? flags.front() + " changes nothing: " + reason
                                                : listed(flags) + " change nothing: " + plural(reason));
    }
    for (const auto& [backends, flags] : for_others) {
        run.notices.push_back("kept in arguments.json but without effect, because they only steer " +
                              backend_names(backends) + ": " + flags);
    }
}

// Adjusts values of shared options before the task's own steps: settles alternatives, and changes values that cannot be
// honoured, with a notice.

namespace {

bool is_zero(const Value& value) {
    return value == Value(false) || value == Value(std::int64_t{0}) || value == Value(0.0);
}

/// The option for a flag, with or without hyphens, also in its --no- form or by an old name; null if there is none.
const Option* option_of_flag(const OptionSet& options, std::string_view flag) {
    std::string key_text(flag.substr(std::min(flag.size(), flag.find_first_not_of('-'))));
    std::replace(key_text.begin(), key_text.end(), '-', '_');
    const Alias* alias = nullptr;
    const Option* option = options.with_key(key_text, &alias);
    if (option == nullptr && key_text.starts_with("no_")) option = options.with_key(key_text.substr(3), &alias);
    return option;
}

void settle(OptionValues& values, const Alternatives& pair) {
    if (!values.given(pair.one) || !values.given(pair.other)) return;
    const ResolvedOption one = values.at(pair.one);
    const ResolvedOption other = values.at(pair.other);
    if (one.source > other.source && (pair.zero_counts || !is_zero(one.value))) {
        values.reset(pair.other);
    } else if (other.source > one.source && !is_zero(other.value)) {
        values.reset(pair.one);
    }
}

/// True if both options are given and `by` comes from a source with higher precedence than that of `key`.
bool overruled(const OptionValues& values, std::string_view key, std::string_view by) {
    return values.given(key) && values.given(by) && values.source(key) < values.source(by);
}

void leave_out(Resolution& run, std::string_view key, const std::string& because) {
    const ResolvedOption entry = run.values.at(key);
    run.notices.push_back(std::string(entry.option->flag) + " " + to_string(entry.value) + " is left out because of " +
                          because);
    run.values.reset(key);
}

/// --no-pipeline and --shards override the stages set by a configuration.
void settle_pipeline(Resolution& run) {
    const OptionValues& values = run.values;
    if (!values.has("pipeline")) return;
    const run::TrainingSettings& training = run.settings().training;
    if (!training.pipeline) {
        for (const char* key : {"pipeline_splits", "shards"}) {
            if (overruled(values, key, "pipeline")) leave_out(run, key, "--no-pipeline");
        }
    }
    constexpr const char* kProportion = "available_memory_proportion";
    if (run.settings().ipu.available_memory_proportion.size() <= 1) return;
    if (!training.pipeline && overruled(values, kProportion, "pipeline")) {
        leave_out(run, kProportion, "--no-pipeline");
    } else if (overruled(values, kProportion, "shards")) {
        leave_out(run, kProportion, "--shards " + std::to_string(training.shards));
    }
}

/// --replicas overrides a --BN-span from a configuration that does not fit the number of replicas.
void settle_norm_span(Resolution& run) {
    constexpr const char* kSpan = "BN_span";
    if (!run.values.has(kSpan) || !overruled(run.values, kSpan, "replicas")) return;
    const run::TrainingSettings& training = run.settings().training;
    if (!schedule::norm_span_fits(training.norm_span, training.replicas, training.processes))
        leave_out(run, kSpan, "--replicas " + std::to_string(training.replicas));
}

/// poprun sets the replicas per process; a different --replicas is ignored with a notice.
void adjust_replicas(Resolution& run) {
    const std::optional<std::int64_t> local = run.values.launch().replicas;
    if (run.command != run.task.commands.front() || !local) return;
    const std::int64_t asked = run.settings().training.replicas;
    if (asked == *local) return;
    if (run.values.given("replicas")) {
        run.notices.push_back("--replicas " + std::to_string(asked) + " is ignored: poprun gives each process " +
                              std::to_string(*local));
    }
    run.values.set("replicas", *local, Source::adjusted);
}

/// Evaluation uses one replica on one device, even if the configuration asks for more.
void adjust_devices(Resolution& run) {
    if (((kV | kE) & bit(run.command)) == 0) return;
    for (const char* key : {"replicas", "shards"}) {
        if (!run.values.has(key)) continue;
        const ResolvedOption devices = run.values.at(key);
        if (devices.value == Value(std::int64_t{1})) continue;
        run.notices.push_back(std::string(devices.option->flag) + " " + to_string(devices.value) +
                              " counts as 1: one device evaluates");
        run.values.set(key, std::int64_t{1}, Source::adjusted);
    }
}

/// If a configuration sets a whole number of epochs, the last checkpoint falls on the last epoch.
void adjust_checkpoint_offset(Resolution& run) {
    const double epochs = run.settings().training.epochs;
    const run::CheckpointSettings& checkpoint = run.settings().checkpoint;
    if (run.command != Command::train || checkpoint.epochs_per_ckpt == 0 || checkpoint.ckpt_epochs_offset != 0) return;
    if (run.values.source("epochs") != Source::config || epochs != std::floor(epochs)) return;
    const double offset = std::fmod(epochs, static_cast<double>(checkpoint.epochs_per_ckpt));
    if (offset != 0.0) run.values.set("ckpt_epochs_offset", static_cast<std::int64_t>(offset), Source::adjusted);
}

/// A length of 0 on the line takes back a configuration's; where no other length is given, it asks for nothing.
void refuse_length_of_nothing(Resolution& run) {
    const OptionValues& values = run.values;
    if (!trains(run) || !values.has("epochs") || !values.has("iterations")) return;
    for (const auto& [asked, other] : {std::pair{"epochs", "iterations"}, {"iterations", "epochs"}}) {
        const ResolvedOption length = values.at(asked);
        if (length.source != Source::command_line || !is_zero(length.value)) continue;
        if (values.given(other) && !is_zero(values.at(other).value)) continue;
        const std::string flag(length.option->flag);
        run.violations.push_back(flag + " 0: a run has one weight update at least; without " + flag +
                                 " it has the default length");
        return;
    }
}

bool goes_by_results(const run::ValidationSettings& validation) {
    return validation.keep_best || validation.early_stop > 0;
}

/// --keep-best and --early-stop need validations during training: every epoch, if the user does not say when. Those of
/// a data set's defaults or a configuration are left out of a run without validation.
void settle_validation_times(Resolution& run) {
    OptionValues& values = run.values;
    if (!trains(run) || !values.has("validate_every")) return;
    const run::ValidationSettings& validation = run.settings().validation;
    const bool any = validation.any();
    const bool off = !validation.enabled;
    if (goes_by_results(validation) && !any && !off && !values.given("validate_every"))
        values.set("validate_every", 1.0, Source::adjusted);
    for (const char* key : {"validate_every", "validate_every_updates"}) {
        if (off && any && values.source(key) < values.source("validation")) values.reset(key);
    }
}

}  // namespace

bool takes_place_of(const TaskOptions& task, std::string_view flag, std::string_view other) {
    const Option* const one = option_of_flag(task.options(), flag);
    const Option* const two = option_of_flag(task.options(), other);
    if (one == nullptr || two == nullptr) return false;
    return one == two || std::ranges::any_of(task.alternatives, [&](const Alternatives& pair) {
               return (pair.one == key(*one) && pair.other == key(*two)) ||
                      (pair.one == key(*two) && pair.other == key(*one));
           });
}

void settle_alternatives(Resolution& run) {
    refuse_length_of_nothing(run);
    for (const Alternatives& pair : run.task.alternatives)
        settle(run.values, pair);
    settle_pipeline(run);
    settle_norm_span(run);
}

void adjust_shared(Resolution& run) {
    adjust_replicas(run);
    adjust_devices(run);
    adjust_checkpoint_offset(run);
    settle_validation_times(run);
}

// Rules between shared options: one function and one message each. Rules that need the network or the data files are
// checked by the modules that have them.

namespace {

// Rules of every task.

Violation right_task(const Resolution& run) {
    const std::string& asked = run.settings().main.task;
    if (asked.empty() || asked == run.task.name || run.values.source("task") == Source::command_line) return {};
    const std::vector<std::string_view>& missing = run.values.option("task").missing.choices;
    if (std::ranges::find(missing, asked) != missing.end()) return {};  // reported as unsupported instead
    return "the configuration is for --task " + asked + ", and the run is of --task " + std::string(run.task.name);
}

Violation compute_type_of_16(const Resolution& run) {
    if (!run.values.has("precision") || run.settings().device.compute_type != nn::ComputeType::bf16) return {};
    const std::string precision = to_string(run.values.at("precision").value);
    if (precision != "32.32" && precision != "32") return {};
    return "--precision " + precision + " computes in f32: leave out --compute-type bf16 or choose --precision 16" +
           (precision == "32" ? "" : ".32");
}

/// A --momentum without effect on the command line is an error; from a configuration, a notice.
Violation momentum_of_optimiser(const Resolution& run) {
    if (!trains(run) || !run.values.has("momentum")) return {};
    const ResolvedOption momentum = run.values.at("momentum");
    if (momentum.source != Source::command_line || momentum.value == Value(0.0)) return {};
    const std::string reason = idle_reason(*momentum.option, run);
    return reason.empty() ? reason : "--momentum " + to_string(momentum.value) + " changes nothing: " + reason;
}

Violation betas(const Resolution& run) {
    const optim::AdamSettings& adam = run.settings().optimiser.adam;
    if (!trains(run) || (adam.beta1 < 1 && adam.beta2 < 1)) return {};
    return "--beta1 and --beta2 must be below 1: a mean of gradients that never decays would stay 0";
}

/// In other programs `--freeze` takes a number of layers.
Violation patterns_of_frozen(const Resolution& run) {
    if (!trains(run)) return {};
    for (const std::string& pattern : run.settings().optimiser.freeze) {
        if (pattern.find_first_not_of("0123456789") != std::string::npos) continue;
        return "--freeze " + pattern +
               ": expected patterns of names of variables, not a number of layers, as in "
               "--freeze '/stage[0-3]/'; for all but the last layer, --head-only";
    }
    return {};
}

Violation thread_counts(const Resolution& run) {
    const int cores = available_cores();
    const int most = most_threads();
    const Settings& settings = run.settings();
    for (const auto& [flag, threads] : {std::pair{"--threads", settings.run.threads},
                                        {"--input-threads", settings.run.input_threads},
                                        {"--num-inference-thread", settings.main.inference_threads}}) {
        if (threads <= most) continue;
        return std::string(flag) + " " + std::to_string(threads) + ": at most " + std::to_string(most) +
               " on this machine, of which the process may use " + std::to_string(cores) +
               (cores == 1 ? " core" : " cores");
    }
    return {};
}

Violation overwritten_folder(const Resolution& run) {
    const Settings& settings = run.settings();
    if (!settings.logging.overwrite || run.command == Command::inference) return {};  // of predictions, in any place
    if (!settings.main.restore_path.value_or("").empty()) {
        return "--overwrite and " + std::string(run.task.options().of_shared("--restore-path").flag) +
               " are both given; choose one";
    }
    if (!settings.logging.logs_path.value_or("").empty() && !settings.logging.no_logs) return {};
    return "--overwrite needs --logs-path, the folder whose run is removed; without it a run gets a new folder";
}

Violation amount_of_output(const Resolution& run) {
    if (!run.settings().logging.verbose || !run.settings().logging.quiet) return {};
    return "--verbose and --quiet are both given; choose one";
}

Violation restore_folder(const Resolution& run) {
    if (run.command != Command::restore || !run.settings().main.restore_path.value_or("").empty()) return {};
    return "restore needs --restore-path, the folder of the run to resume";
}

Violation validation_times(const Resolution& run) {
    const run::ValidationSettings& validation = run.settings().validation;
    if (!trains(run)) return {};
    if (validation.epochs_per_validation > 0 && validation.updates_per_validation > 0)
        return "--validate-every and --validate-every-updates are both given; choose one";
    if (goes_by_results(validation) && !validation.any() && run.values.given("validate_every"))
        return "--keep-best and --early-stop need validations, and --validate-every 0 makes none: leave it out";
    if (validation.enabled) return {};
    if (validation.any()) return "--validate-every and --no-validation are both given; choose one";
    if (validation.keep_best) return "--keep-best needs validations: leave --no-validation out";
    if (validation.early_stop > 0) return "--early-stop needs validations: leave --no-validation out";
    return {};
}

// Rules for options of training, validation and inference. Tasks with other commands have their own.

Violation one_length(const Resolution& run) {
    const run::TrainingSettings& training = run.settings().training;
    if (training.epochs == 0.0 || training.iterations.value_or(0) == 0) return {};
    return "--epochs and --iterations are both given; choose one";
}

Violation memory_proportions(const Resolution& run) {
    const run::TrainingSettings& training = run.settings().training;
    const std::int64_t count = std::ssize(run.settings().ipu.available_memory_proportion);
    if (count <= 1) return {};
    if (!training.pipeline) return "--available-memory-proportion takes several values only with --pipeline";
    const std::int64_t needed = 2 * training.shards;
    if (count == needed) return {};
    return "--available-memory-proportion takes one value or two per device: " + std::to_string(needed) +
           " for --shards " + std::to_string(training.shards) + ", got " + std::to_string(count);
}

Violation shards_need_pipeline(const Resolution& run) {
    const run::TrainingSettings& training = run.settings().training;
    return training.shards <= 1 || training.pipeline ? "" : "--shards above 1 needs --pipeline";
}

Violation splits_need_pipeline(const Resolution& run) {
    const run::TrainingSettings& training = run.settings().training;
    return training.pipeline || training.pipeline_splits.size() <= 1 ? "" : "several --pipeline-splits need --pipeline";
}

Violation checkpoint_frequency(const Resolution& run) {
    const run::CheckpointSettings& checkpoint = run.settings().checkpoint;
    if (checkpoint.epochs_per_ckpt == 0 || checkpoint.ckpts_per_epoch == 1) return {};
    return "--epochs-per-ckpt and --ckpts-per-epoch are both given; choose one";
}

Violation sync_frequency(const Resolution& run) {
    const run::TrainingSettings& training = run.settings().training;
    if (training.epochs_per_sync == 0.0 || training.syncs_per_epoch == 0) return {};
    return "--epochs-per-sync and --syncs-per-epoch are both given; choose one";
}

Violation syncs_need_processes(const Resolution& run) {
    const run::TrainingSettings& training = run.settings().training;
    if (training.syncs_per_epoch == 0 || training.processes > 1) return {};
    return "--syncs-per-epoch needs several processes under poprun";
}

Violation lars_signs(const Resolution& run) {
    const optim::OptimiserSettings& optimiser = run.settings().optimiser;
    if (optimiser.rule != graph::UpdateRule::lars) return {};
    if (optimiser.momentum >= 0.0 && optimiser.lars.weight_decay >= 0.0) return {};
    return "--momentum and --lars-weight-decay must not be negative with --optimiser LARS";
}

Violation one_profile(const Resolution& run) {
    if (!run.settings().logging.profile || !run.values.given("profile_compilation")) return {};
    if (run.values.at("profile_compilation").value == Value(false)) return {};
    return "--profile and --profile-compilation are both given; choose one";
}

Violation selected_ipus(const Resolution& run) {
    const std::vector<std::string>& words = run.settings().device.select_ipu;
    const auto fits = [](const std::string& word) {
        const bool number = !word.empty() && std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
        return is_any_ipu(word) || (number && word.size() <= 6);
    };
    if (words.size() <= 2 && std::ranges::all_of(words, fits)) return {};
    return "--select-ipu takes AUTO or the number of a device, or two of these for training and validation, got '" +
           listed(words) + "'";
}

Violation rmsprop_decay(const Resolution& run) {
    const optim::OptimiserSettings& optimiser = run.settings().optimiser;
    if (optimiser.rule != graph::UpdateRule::rmsprop || optimiser.rmsprop_decay) return {};
    if (!optimiser.rmsprop_base_decay_exp)
        return "--optimiser RMSprop needs --rmsprop-decay or --rmsprop-base-decay-exp";
    const std::int64_t batch = schedule::batch_plan(run.settings().training).global_batch();
    const double decay = optim::rmsprop_decay(optimiser, batch);
    if (decay >= 0) return {};
    return "--rmsprop-base-decay-exp " + to_string(Value(*optimiser.rmsprop_base_decay_exp)) +
           " and a global batch of " + std::to_string(batch) + " give RMSprop the decay " + to_string(Value(decay)) +
           ", which must lie between 0 and 1; lower the exponent or give --rmsprop-decay";
}

bool averages_weights(const run::CheckpointSettings& checkpoint) {
    return !checkpoint.mean_epochs.empty() || !checkpoint.exponential_decays.empty();
}

Violation averaging_needs_checkpoints(const Resolution& run) {
    const run::CheckpointSettings& checkpoint = run.settings().checkpoint;
    if (!averages_weights(checkpoint) || checkpoint.ckpts_per_epoch > 0 || checkpoint.epochs_per_ckpt > 0) return {};
    return "--weight-avg-N and --weight-avg-exp average checkpoints, and --ckpts-per-epoch 0 writes none";
}

Violation averaging_keeps_checkpoints(const Resolution& run) {
    const run::CheckpointSettings& checkpoint = run.settings().checkpoint;
    if (!averages_weights(checkpoint) || checkpoint.keep == 0) return {};
    return "--weight-avg-N and --weight-avg-exp need the checkpoints that --keep-ckpts removes; leave --keep-ckpts out";
}

Violation name_suffix(const Resolution& run) {
    const std::string suffix = run.settings().logging.name_suffix.value_or("");
    if (suffix.find('/') == std::string::npos) return {};
    return "--name-suffix '" + suffix +
           "' has a slash, and it is part of a folder's name; --log-dir and --logs-path say where the folder is";
}

Violation one_use_of_the_head(const Resolution& run) {
    if (!run.settings().head.only || !run.settings().head.first) return {};
    return "--head-only and --head-first are both given; choose one";
}

const std::vector<Rule>& rules() {
    static const std::vector<Rule> all = {
        {kAll, right_task},
        {kAll, compute_type_of_16},
        {kAll, momentum_of_optimiser},
        {kAll, betas},
        {kAll, patterns_of_frozen},
        {kAll, thread_counts},
        {kAll, overwritten_folder},
        {kAll, amount_of_output},
        {kAll, restore_folder},
        {kAll, validation_times},
        {kTVE, one_length},
        {kT, memory_proportions},
        {kT, shards_need_pipeline},
        {kT, splits_need_pipeline},
        {kT, checkpoint_frequency},
        {kT, sync_frequency},
        {kT, syncs_need_processes},
        {kT, lars_signs},
        {kT | kV, one_profile},
        {kTVE | bit(Command::pretrain), selected_ipus},
        {kT, rmsprop_decay},
        {kT, averaging_needs_checkpoints},
        {kT, averaging_keeps_checkpoints},
        {kTVE, name_suffix},
        {kT, one_use_of_the_head},
    };
    return all;
}

}  // namespace

void check_shared(Resolution& run) {
    check_rules(rules(), run);
}

void check_rules(const std::vector<Rule>& rules, Resolution& run) {
    for (const Rule& rule : rules) {
        if ((rule.commands & bit(run.command)) == 0) continue;
        Violation violation = rule.check(run);
        if (!violation.empty()) run.violations.push_back(std::move(violation));
    }
}

}  // namespace cnntrain::options
