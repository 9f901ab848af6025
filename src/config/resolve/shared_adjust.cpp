// Adjusts values of shared options before the task's own steps: settles alternatives, and changes values that cannot be
// honoured, with a notice.
#include <algorithm>
#include <cmath>

#include "cnntrain/config/parse.h"
#include "config/resolve/resolve.h"

namespace cnntrain::config {
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

}  // namespace cnntrain::config
