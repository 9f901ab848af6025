// Rules between shared options: one function and one message each. Rules that need the network or the data files are
// checked by the modules that have them.
#include <algorithm>
#include <string>

#include "cnntrain/base/cores.h"
#include "cnntrain/base/text.h"
#include "config/resolve/resolve.h"

namespace cnntrain::config {
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
    const bool asks = run.values.text("compute_type") == name(nn::ComputeType::bf16);
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

/// Other programs count layers here.
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
    if (values.text("optimiser") != name(graph::UpdateRule::lars)) return {};
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
    if (values.text("optimiser") != name(graph::UpdateRule::rmsprop)) return {};
    if (values.is_set("rmsprop_decay") || values.is_set("rmsprop_base_decay_exp")) return {};
    return "--optimiser RMSprop needs --rmsprop-decay or --rmsprop-base-decay-exp";
}

Violation rmsprop_decay_range(const OptionValues& values) {
    if (values.text("optimiser") != name(graph::UpdateRule::rmsprop) || values.is_set("rmsprop_decay")) return {};
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

}  // namespace cnntrain::config
