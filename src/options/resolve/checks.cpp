// Decides where options have an effect: in which commands, on which backends and data, with which other options. Users
// get a notice about each option that has none.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "cnntrain/base/cores.h"
#include "cnntrain/base/text.h"
#include "cnntrain/options/parse.h"
#include "options/resolve/resolve.h"

namespace cnntrain::options {
namespace {

/// Empty for tasks without the option.
std::optional<backend::BackendKind> backend_of(const OptionValues& values) {
    if (!values.has("backend")) return std::nullopt;
    return named<backend::BackendKind>(values.text("backend"));
}

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
    const ResolvedOption& other = values.at(need.key);
    return allows(need, *other.option, other.value);
}

std::string needs_reason(const std::vector<Need>& needs, const OptionValues& values) {
    std::vector<std::string> others;
    for (const Need& need : needs) {
        const std::vector<std::string> choices(need.values.begin(), need.values.end());
        const std::string choice = choices.empty() ? "" : " " + listed(choices, "or");
        others.push_back(documented_flag(*values.at(need.key).option) + choice);
    }
    return "it needs " + listed(others, "or");
}

}  // namespace

std::string idle_reason(const Option& option, const Resolution& run) {
    const OptionValues& values = run.values;
    if (!option.idle.empty()) return std::string(option.idle);
    const bool on_ipu = backend_of(values) == backend::BackendKind::ipu;
    if (on_ipu && !option.idle_on_ipu.empty()) return std::string(option.idle_on_ipu);
    if ((option.acts_in & bit(run.command)) == 0) return commands_reason(option.acts_in);
    const bool asks_data = (option.acts_on_in & bit(run.command)) != 0 && run.task.data_reason != nullptr;
    if (std::string reason = asks_data ? run.task.data_reason(option, values) : ""; !reason.empty()) return reason;
    const auto met = [&](const Need& need) { return is_met(need, values); };
    if (option.replicas_suffice_on_ipu && on_ipu) {
        if (values.integer("replicas") == 1) return "it needs several --replicas";
    } else if (option.needs_processes && values.launch().processes == 1) {
        return "it needs several processes (mpirun, srun or cnntrain poprun)";
    }
    if (!option.needs.empty() && std::ranges::none_of(option.needs, met)) return needs_reason(option.needs, values);
    return "";
}

namespace {

/// No notice is due for an option from arguments.json, because the original run gave it already. A configuration serves
/// all commands and may name a data folder that this run does not read, so neither of these is reported.
bool needs_no_word(const Option& option, Command command, Source source) {
    if (source == Source::command_line) return false;
    if (source == Source::arguments) return true;
    return (option.acts_in & bit(command)) == 0 || option.names_data;
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
    const auto& all = spellings(backend::BackendKind{});
    for (std::size_t i = 0; i < all.size(); ++i) {
        if ((backends & (1U << i)) != 0) words.emplace_back(all[i]);
    }
    return "--backend " + listed(words, "or");
}

bool steers_backend(const Option& option, const OptionValues& values) {
    const auto backend = backend_of(values);
    return !backend || (option.acts_on_backends & bit(*backend)) != 0;
}

void notice_idle_options(Resolution& run) {
    IdleFlags idle;
    std::map<std::uint32_t, std::string> for_others;  // flags by the set of backends that they steer
    for (const ResolvedOption& entry : run.values.all()) {
        const Option& option = *entry.option;
        if (!given(entry.source) || entry.value == option.fallback) continue;
        if (!steers_backend(option, run.values)) {
            std::string& flags = for_others[option.acts_on_backends];
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
    const ResolvedOption& one = values.at(pair.one);
    const ResolvedOption& other = values.at(pair.other);
    if (one.source > other.source && (pair.zero_counts || !is_zero(one.value))) {
        values.reset(pair.other);
    } else if (other.source > one.source && !is_zero(other.value)) {
        values.reset(pair.one);
    }
}

/// True if both options are given and `by` comes from a source with higher precedence than that of `key`.
bool overruled(const OptionValues& values, std::string_view key, std::string_view by) {
    return values.given(key) && values.given(by) && values.at(key).source < values.at(by).source;
}

void leave_out(Resolution& run, std::string_view key, const std::string& because) {
    const ResolvedOption& entry = run.values.at(key);
    run.notices.push_back(std::string(entry.option->flag) + " " + to_string(entry.value) + " is left out because of " +
                          because);
    run.values.reset(key);
}

/// --no-pipeline and --shards override the stages set by a configuration.
void settle_pipeline(Resolution& run) {
    OptionValues& values = run.values;
    if (!values.has("pipeline")) return;
    if (!values.flag("pipeline")) {
        for (const char* key : {"pipeline_splits", "shards"}) {
            if (overruled(values, key, "pipeline")) leave_out(run, key, "--no-pipeline");
        }
    }
    constexpr const char* kProportion = "available_memory_proportion";
    const auto* proportions = std::get_if<std::vector<double>>(&values.at(kProportion).value);
    if (proportions == nullptr || proportions->size() <= 1) return;
    if (!values.flag("pipeline") && overruled(values, kProportion, "pipeline")) {
        leave_out(run, kProportion, "--no-pipeline");
    } else if (overruled(values, kProportion, "shards")) {
        leave_out(run, kProportion, "--shards " + std::to_string(values.integer("shards")));
    }
}

/// --replicas overrides a --BN-span from a configuration that does not fit the number of replicas.
void settle_norm_span(Resolution& run) {
    constexpr const char* kSpan = "BN_span";
    if (!run.values.has(kSpan) || !overruled(run.values, kSpan, "replicas")) return;
    const std::int64_t replicas = run.values.integer("replicas");
    if (!schedule::norm_span_fits(run.values.integer(kSpan), replicas, run.values.launch().processes))
        leave_out(run, kSpan, "--replicas " + std::to_string(replicas));
}

/// --batch-size is an old name for --micro-batch-size.
void settle_batch_size(Resolution& run) {
    OptionValues& values = run.values;
    if (values.integer("batch_size") != 0 && values.integer("micro_batch_size") != 0) {
        run.violations.push_back(
            "--batch-size and --micro-batch-size are two names of one value; give --micro-batch-size only");
    } else if (values.integer("batch_size") != 0) {
        const ResolvedOption old = values.at("batch_size");
        values.set("micro_batch_size", old.value, old.source);
        values.reset("batch_size");
    }
}

/// poprun sets the replicas per process; a different --replicas is ignored with a notice.
void adjust_replicas(Resolution& run) {
    const std::optional<std::int64_t> local = run.values.launch().replicas;
    if (run.command != run.task.commands.front() || !local) return;
    const std::int64_t asked = run.values.integer("replicas");
    if (asked == *local) return;
    if (run.values.given("replicas")) {
        run.notices.push_back("--replicas " + std::to_string(asked) + " is ignored: poprun gives each process " +
                              std::to_string(*local));
    }
    run.values.set("replicas", *local, Source::adjusted);
}

/// Evaluation uses one replica on one device, even if the configuration asks for more.
void adjust_devices(Resolution& run) {
    for (const char* key : {"replicas", "shards"}) {
        const bool evaluates = ((kV | kE) & bit(run.command)) != 0;
        if (!evaluates || !run.values.has(key) || run.values.integer(key) == 1) continue;
        run.notices.push_back(std::string(run.values.at(key).option->flag) + " " +
                              std::to_string(run.values.integer(key)) + " counts as 1: one device evaluates");
        run.values.set(key, std::int64_t{1}, Source::adjusted);
    }
}

/// If a configuration sets a whole number of epochs, the last checkpoint falls on the last epoch.
void adjust_checkpoint_offset(Resolution& run) {
    OptionValues& values = run.values;
    const double epochs = values.number("epochs");
    const std::int64_t period = values.integer("epochs_per_ckpt");
    const bool whole = period > 0 && values.at("epochs").source == Source::config && epochs == std::floor(epochs);
    if (run.command != Command::train || !whole || values.integer("ckpt_epochs_offset") != 0) return;
    const double offset = std::fmod(epochs, static_cast<double>(period));
    if (offset != 0.0) values.set("ckpt_epochs_offset", static_cast<std::int64_t>(offset), Source::adjusted);
}

/// A length of 0 on the line takes back a configuration's; where no other length is given, it asks for nothing.
void refuse_length_of_nothing(Resolution& run) {
    const OptionValues& values = run.values;
    if (!trains(run) || !values.has("epochs") || !values.has("iterations")) return;
    for (const auto& [asked, other] : {std::pair{"epochs", "iterations"}, {"iterations", "epochs"}}) {
        const ResolvedOption& length = values.at(asked);
        if (length.source != Source::command_line || !is_zero(length.value)) continue;
        if (values.given(other) && !is_zero(values.at(other).value)) continue;
        const std::string flag(length.option->flag);
        run.violations.push_back(flag + " 0: a run has one weight update at least; without " + flag +
                                 " it has the default length");
        return;
    }
}

/// --keep-best and --early-stop need validations during training: every epoch, if the user does not say when. Those of
/// a data set's defaults or a configuration are left out of a run without validation.
void settle_validation_times(Resolution& run) {
    OptionValues& values = run.values;
    if (!trains(run) || !values.has("validate_every")) return;
    const bool goes_by_results = values.is_set("keep_best") || values.integer("early_stop") > 0;
    const bool any = values.number("validate_every") > 0 || values.integer("validate_every_updates") > 0;
    const bool off = values.has("validation") && !values.flag("validation");
    if (goes_by_results && !any && !off && !values.given("validate_every"))
        values.set("validate_every", 1.0, Source::adjusted);
    for (const char* key : {"validate_every", "validate_every_updates"}) {
        if (off && any && values.at(key).source < values.at("validation").source) values.reset(key);
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
    settle_batch_size(run);
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
    const std::string asked = run.values.text("task");
    if (asked.empty() || asked == run.task.name || run.values.at("task").source == Source::command_line) return {};
    const std::vector<std::string_view>& missing = run.values.at("task").option->missing_choices;
    if (std::ranges::find(missing, asked) != missing.end()) return {};  // reported as unsupported instead
    return "the configuration is for --task " + asked + ", and the run is of --task " + std::string(run.task.name);
}

Violation compute_type_of_16(const Resolution& run) {
    const std::string precision = run.values.text("precision");
    const bool asks = run.values.text("compute_type") == spelling(nn::ComputeType::bf16);
    if (!asks || (precision != "32.32" && precision != "32")) return {};
    return "--precision " + precision + " computes in f32: leave out --compute-type bf16 or choose --precision 16" +
           (precision == "32" ? "" : ".32");
}

/// A --momentum without effect on the command line is an error; from a configuration, a notice.
Violation momentum_of_optimiser(const Resolution& run) {
    if (!trains(run) || !run.values.has("momentum")) return {};
    const ResolvedOption& momentum = run.values.at("momentum");
    if (momentum.source != Source::command_line || momentum.value == Value(0.0)) return {};
    const std::string reason = idle_reason(*momentum.option, run);
    return reason.empty() ? reason : "--momentum " + to_string(momentum.value) + " changes nothing: " + reason;
}

Violation betas(const Resolution& run) {
    if (!trains(run)) return {};
    if (run.values.number("beta1") < 1 && run.values.number("beta2") < 1) return {};
    return "--beta1 and --beta2 must be below 1: a mean of gradients that never decays would stay 0";
}

/// In other programs `--freeze` takes a number of layers.
Violation patterns_of_frozen(const Resolution& run) {
    if (!trains(run) || !run.values.has("freeze")) return {};
    for (const std::string& pattern : run.values.texts("freeze")) {
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
    for (const char* key : {"threads", "input_threads", "num_inference_thread"}) {
        if (run.values.integer(key) <= most) continue;
        return std::string(run.values.at(key).option->flag) + " " + std::to_string(run.values.integer(key)) +
               ": at most " + std::to_string(most) + " on this machine, of which the process may use " +
               std::to_string(cores) + (cores == 1 ? " core" : " cores");
    }
    return {};
}

Violation overwritten_folder(const Resolution& run) {
    const OptionValues& values = run.values;
    if (!values.flag("overwrite") || run.command == Command::inference) return {};  // of predictions, in any place
    const Option& restored = run.task.options().of_shared("--restore-path");
    if (!values.text(key(restored)).empty())
        return "--overwrite and " + std::string(restored.flag) + " are both given; choose one";
    if (!values.text("logs_path").empty() && !values.flag("no_logs")) return {};
    return "--overwrite needs --logs-path, the folder whose run is removed; without it a run gets a new folder";
}

Violation amount_of_output(const Resolution& run) {
    if (!run.values.flag("verbose") || !run.values.flag("quiet")) return {};
    return "--verbose and --quiet are both given; choose one";
}

Violation restore_folder(const Resolution& run) {
    if (run.command != Command::restore || !run.values.text("restore_path").empty()) return {};
    return "restore needs --restore-path, the folder of the run to resume";
}

Violation validation_times(const Resolution& run) {
    const OptionValues& values = run.values;
    if (!trains(run) || !values.has("validate_every")) return {};
    const bool every = values.number("validate_every") > 0;
    const bool updates = values.integer("validate_every_updates") > 0;
    if (every && updates) return "--validate-every and --validate-every-updates are both given; choose one";
    const bool goes_by_results = values.is_set("keep_best") || values.integer("early_stop") > 0;
    if (goes_by_results && !every && !updates && values.given("validate_every"))
        return "--keep-best and --early-stop need validations, and --validate-every 0 makes none: leave it out";
    if (!values.has("validation") || values.flag("validation")) return {};
    if (every || updates) return "--validate-every and --no-validation are both given; choose one";
    if (values.is_set("keep_best")) return "--keep-best needs validations: leave --no-validation out";
    if (values.integer("early_stop") > 0) return "--early-stop needs validations: leave --no-validation out";
    return {};
}

// Rules for options of training, validation and inference. Tasks with other commands have their own.

Violation one_length(const OptionValues& values) {
    if (values.number("epochs") == 0.0 || values.integer("iterations") == 0) return {};
    return "--epochs and --iterations are both given; choose one";
}

Violation one_data_source(const OptionValues& values) {
    if (!values.flag("generated_data") || !values.flag("synthetic_data")) return {};
    return "--generated-data and --synthetic-data are both given; choose one";
}

Violation memory_proportions(const OptionValues& values) {
    if (!values.is_set("available_memory_proportion")) return {};
    const auto& list = std::get<std::vector<double>>(values.at("available_memory_proportion").value);
    const auto count = static_cast<std::int64_t>(list.size());
    if (count <= 1) return {};
    if (!values.flag("pipeline")) return "--available-memory-proportion takes several values only with --pipeline";
    const std::int64_t needed = 2 * values.integer("shards");
    if (count == needed) return {};
    return "--available-memory-proportion takes one value or two per device: " + std::to_string(needed) +
           " for --shards " + std::to_string(values.integer("shards")) + ", got " + std::to_string(count);
}

Violation shards_need_pipeline(const OptionValues& values) {
    if (values.integer("shards") <= 1 || values.flag("pipeline")) return {};
    return "--shards above 1 needs --pipeline";
}

Violation splits_need_pipeline(const OptionValues& values) {
    if (values.flag("pipeline") || values.texts("pipeline_splits").size() <= 1) return {};
    return "several --pipeline-splits need --pipeline";
}

Violation checkpoint_frequency(const OptionValues& values) {
    if (values.integer("epochs_per_ckpt") == 0 || values.integer("ckpts_per_epoch") == 1) return {};
    return "--epochs-per-ckpt and --ckpts-per-epoch are both given; choose one";
}

Violation sync_frequency(const OptionValues& values) {
    if (values.number("epochs_per_sync") == 0.0 || values.integer("syncs_per_epoch") == 0) return {};
    return "--epochs-per-sync and --syncs-per-epoch are both given; choose one";
}

Violation syncs_need_processes(const OptionValues& values) {
    if (values.integer("syncs_per_epoch") == 0 || values.launch().processes > 1) return {};
    return "--syncs-per-epoch needs several processes under poprun";
}

Violation lars_signs(const OptionValues& values) {
    if (values.text("optimiser") != spelling(graph::UpdateRule::lars)) return {};
    if (values.number("momentum") >= 0.0 && values.number("lars_weight_decay") >= 0.0) return {};
    return "--momentum and --lars-weight-decay must not be negative with --optimiser LARS";
}

Violation one_profile(const OptionValues& values) {
    if (!values.flag("profile") || !values.flag("profile_compilation")) return {};
    return "--profile and --profile-compilation are both given; choose one";
}

Violation selected_ipus(const OptionValues& values) {
    const std::vector<std::string> words = values.texts("select_ipu");
    const auto fits = [](const std::string& word) {
        const bool number = !word.empty() && std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
        return is_any_ipu(word) || (number && word.size() <= 6);
    };
    if (words.size() <= 2 && std::ranges::all_of(words, fits)) return {};
    return "--select-ipu takes AUTO or the number of a device, or two of these for training and validation, got '" +
           listed(words) + "'";
}

Violation rmsprop_decay(const OptionValues& values) {
    if (values.text("optimiser") != spelling(graph::UpdateRule::rmsprop)) return {};
    if (values.is_set("rmsprop_decay") || values.is_set("rmsprop_base_decay_exp")) return {};
    return "--optimiser RMSprop needs --rmsprop-decay or --rmsprop-base-decay-exp";
}

Violation rmsprop_decay_range(const OptionValues& values) {
    if (values.text("optimiser") != spelling(graph::UpdateRule::rmsprop) || values.is_set("rmsprop_decay")) return {};
    if (!values.is_set("rmsprop_base_decay_exp")) return {};
    const schedule::BatchPlan plan{.micro_batch = values.integer("micro_batch_size"),
                                   .accumulation = values.integer("gradient_accumulation_count"),
                                   .replicas = values.integer("replicas"),
                                   .processes = values.launch().processes};
    optim::OptimiserSettings settings;
    settings.rmsprop_base_decay_exp = values.number("rmsprop_base_decay_exp");
    const double decay = optim::rmsprop_decay(settings, plan.global_batch());
    if (decay >= 0) return {};
    return "--rmsprop-base-decay-exp " + to_string(values.at("rmsprop_base_decay_exp").value) +
           " and a global batch of " + std::to_string(plan.global_batch()) + " give RMSprop the decay " +
           to_string(Value(decay)) + ", which must lie between 0 and 1; lower the exponent or give --rmsprop-decay";
}

bool averages_weights(const OptionValues& values) {
    return values.is_set("weight_avg_N") || values.is_set("weight_avg_exp");
}

Violation averaging_needs_checkpoints(const OptionValues& values) {
    if (!averages_weights(values) || values.integer("ckpts_per_epoch") > 0) return {};
    if (values.integer("epochs_per_ckpt") > 0) return {};
    return "--weight-avg-N and --weight-avg-exp average checkpoints, and --ckpts-per-epoch 0 writes none";
}

Violation averaging_keeps_checkpoints(const OptionValues& values) {
    if (!averages_weights(values) || values.integer("keep_ckpts") == 0) return {};
    return "--weight-avg-N and --weight-avg-exp need the checkpoints that --keep-ckpts removes; leave --keep-ckpts out";
}

Violation name_suffix(const OptionValues& values) {
    const std::string suffix = values.text("name_suffix");
    if (suffix.find('/') == std::string::npos) return {};
    return "--name-suffix '" + suffix +
           "' has a slash, and it is part of a folder's name; --log-dir and --logs-path say where the folder is";
}

Violation one_use_of_the_head(const OptionValues& values) {
    if (!values.flag("head_only") || !values.flag("head_first")) return {};
    return "--head-only and --head-first are both given; choose one";
}

const std::vector<Rule>& rules() {
    static const std::vector<Rule> all = {
        {kTVE, one_length},
        {kTVE, one_data_source},
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
        {kT, rmsprop_decay_range},
        {kT, averaging_needs_checkpoints},
        {kT, averaging_keeps_checkpoints},
        {kTVE, name_suffix},
        {kT, one_use_of_the_head},
    };
    return all;
}

}  // namespace

void check_shared(Resolution& run) {
    for (Violation (*const rule)(const Resolution&) :
         {right_task, compute_type_of_16, momentum_of_optimiser, betas, patterns_of_frozen, thread_counts,
          overwritten_folder, amount_of_output, restore_folder, validation_times}) {
        Violation violation = rule(run);
        if (!violation.empty()) run.violations.push_back(std::move(violation));
    }
    check_rules(rules(), run);
}

void check_rules(const std::vector<Rule>& rules, Resolution& run) {
    for (const Rule& rule : rules) {
        if ((rule.commands & bit(run.command)) == 0) continue;
        Violation violation = rule.check(run.values);
        if (!violation.empty()) run.violations.push_back(std::move(violation));
    }
}

}  // namespace cnntrain::options
