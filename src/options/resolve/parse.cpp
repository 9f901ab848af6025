#include "cnntrain/options/parse.h"

#include <unistd.h>
#include <algorithm>
#include <filesystem>

#include "cnntrain/base/checked.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "cnntrain/options/line.h"
#include "cnntrain/options/settings.h"
#include "options/read/read.h"

namespace cnntrain::options {
namespace {

namespace fs = std::filesystem;

struct Layers {
    Layer told = {};  // by files that the line names
    std::shared_ptr<Findings> findings = nullptr;
    Layer environment;
    Layer config;
    Layer arguments;
    Layer command_line;
    Layer recorded = {};  // by the run that is evaluated; the part that nobody overrides is in `arguments`, too
};

/// The options that exist, given the values that decide this: from the command line, otherwise from the configuration,
/// otherwise from the run that is evaluated, otherwise from files, otherwise the defaults.
std::vector<const Option*> active_options(const TaskOptions& task, Command command, const OwnWords& line,
                                          const Layer& config, const Layer& recorded = {}, const Layer& told = {}) {
    const OptionSet& all = task.options();
    std::map<std::string_view, Value> chosen;
    for (const std::string_view selector : all.selectors()) {
        const Option& option = all.at(selector);
        chosen[selector] = option.fallback;
        if (const auto found = told.find(&option); found != told.end()) chosen[selector] = found->second;
        if (const auto before = recorded.find(&option); before != recorded.end()) chosen[selector] = before->second;
        if (const auto configured = config.find(&option); configured != config.end())
            chosen[selector] = configured->second;
        if (const auto typed = line.value(option.flag)) chosen[selector] = convert(option, {*typed});
    }
    std::vector<const Option*> active;
    for (const Option& option : all.rows()) {
        const bool exists = std::ranges::all_of(
            option.exists_with, [&](const Need& need) { return allows(need, all.at(need.key), chosen.at(need.key)); });
        if ((option.commands & bit(command)) != 0 && exists) active.push_back(&option);
    }
    return active;
}

Layer environment_layer(const TaskOptions& task, const Environment& environment) {
    const Option* const folder = task.options().find("data_dir");
    if (folder == nullptr || !environment.data_dir || environment.data_dir->empty()) return {};
    return {{folder, *environment.data_dir}};
}

void report_violations(const std::vector<std::string>& violations) {
    if (!violations.empty()) throw Error(ErrorKind::usage, joined(violations, "\n"));
}

/// Runs a task's resolution step, if it has one.
void take_step(void (*step)(Resolution&), Resolution& run) {
    if (step != nullptr) step(run);
}

ParseResult resolve(const TaskOptions& task, Command command, const std::vector<const Option*>& options,
                    const Layers& layers, const Launch& launch) {
    Resolution run{task, command, OptionValues(options, task.settings(), launch), {}, {}, layers.findings};
    run.values.apply(layers.told, Source::weights);
    run.values.apply(layers.environment, Source::environment);
    run.values.apply(layers.config, Source::config);
    run.values.apply(layers.arguments, Source::arguments);
    run.values.apply(layers.command_line, Source::command_line);
    settle_alternatives(run);
    take_step(task.fill, run);
    adjust_shared(run);
    take_step(task.adjust, run);
    check_shared(run);
    take_step(task.check, run);
    report_violations(run.violations);
    notice_idle_options(run);
    notice_differences(layers.recorded, run);

    ParseResult result;
    result.task = &task;
    result.command = command;
    result.settings = to_settings(run);
    result.options = run.values.all();
    result.notices = std::move(run.notices);
    result.launch = launch;
    return result;
}

std::int64_t integer_in(const Layer& layer, const Option& option) {
    const auto found = layer.find(&option);
    const Value& value = found != layer.end() ? found->second : option.fallback;
    if (const auto* const number = std::get_if<std::int64_t>(&value)) return *number;
    throw Error(ErrorKind::data,
                "arguments.json: expected a number for \"" + key(option) + "\", found none; the file is damaged");
}

/// Division of a weight update's micro-batches in the recorded run.
struct Shares {
    std::int64_t micro_batches = 0;                              // of a weight update
    std::int64_t accumulation = 0, replicas = 0, processes = 0;  // as recorded
};

std::string counts_that_share(const Shares& recorded, std::int64_t replicas) {
    constexpr std::int64_t kMost = 4096;
    std::string counts;
    for (std::int64_t count = 1; count <= std::min(recorded.micro_batches, kMost); ++count) {
        if (recorded.micro_batches % (count * replicas) == 0)
            counts += (counts.empty() ? "" : ", ") + std::to_string(count);
    }
    return counts;
}

void refuse_uneven_shares(const Shares& recorded, std::int64_t replicas, const Launch& launch) {
    if (recorded.micro_batches % checked_product(launch.processes, replicas, "the number of replicas") == 0) return;
    const std::string counts = counts_that_share(recorded, replicas);
    throw Error(ErrorKind::usage, "each weight update of the run has " + std::to_string(recorded.micro_batches) +
                                      " micro-batches (" + std::to_string(recorded.accumulation) +
                                      " accumulated by each of " + std::to_string(recorded.replicas) + " replicas in " +
                                      std::to_string(recorded.processes) + " processes), which " +
                                      std::to_string(launch.processes) + " processes " +
                                      (replicas > 1 ? "of " + std::to_string(replicas) + " replicas " : "") +
                                      "cannot share evenly; continue with " +
                                      (counts.empty() ? "fewer --replicas" : "one of " + counts + " processes"));
}

std::string mpirun_for_this_user() {
    const bool refuses = ::geteuid() == 0 && !mpirun_allows_root(process_variables());
    return refuses ? "mpirun --allow-run-as-root" : "mpirun";
}

/// Error(usage) if the run shares batch-norm statistics over replicas that this number of processes cannot form.
void refuse_split_norms(const TaskOptions& task, const Layers& layers, const Shares& recorded, std::int64_t replicas,
                        const ParseResult& restore_line) {
    const Option* const span_row = task.options().find("BN_span");
    const Option* const group_row = task.options().find("group_norm");
    if (span_row == nullptr || group_row == nullptr) return;
    const auto group = layers.arguments.find(group_row);
    if (group != layers.arguments.end() && group->second == Value(true)) return;
    const Launch& launch = restore_line.launch;
    const std::int64_t span = integer_in(layers.arguments, *span_row);
    if (schedule::norm_span_fits(span, replicas, launch.processes)) return;
    const std::string line = "cnntrain restore --restore-path " + *restore_line.settings.main.restore_path;
    std::string advice =
        mpirun_for_this_user() + " -np " + std::to_string(recorded.processes) + " --bind-to none " + line;
    const std::int64_t all = recorded.replicas * recorded.processes;
    const std::int64_t each = all / launch.processes;
    const bool fit_here =
        all % launch.processes == 0 && !launch.replicas && schedule::norm_span_fits(span, each, launch.processes);
    if (fit_here) advice += ", or " + line + " --replicas " + std::to_string(each);
    throw Error(ErrorKind::usage, "the run shares batch-norm statistics over " + std::to_string(span) +
                                      " replicas (--BN-span), " + std::to_string(recorded.replicas) + " in each of " +
                                      counted(recorded.processes, "process", "es") + "; " +
                                      counted(launch.processes, "process", "es") + " of " +
                                      counted(replicas, "replica") + " cannot: continue with " + advice);
}

/// Keeps the global batch when a run resumes with another number of processes: adjusts gradient accumulation, and if
/// necessary the number of replicas.
void keep_global_batch(const TaskOptions& task, Layers& layers, std::int64_t recorded_processes,
                       const ParseResult& restore_line) {
    const Launch& launch = restore_line.launch;
    const Option& accumulation_row = task.options().at("gradient_accumulation_count");
    const Option& replicas_row = task.options().at("replicas");
    const auto on_line = [&](const Option& option) { return layers.command_line.contains(&option); };
    if (on_line(accumulation_row)) return;
    Shares recorded{.micro_batches = 0,
                    .accumulation = integer_in(layers.arguments, accumulation_row),
                    .replicas = integer_in(layers.arguments, replicas_row),
                    .processes = recorded_processes};
    const bool asked = on_line(replicas_row);
    std::int64_t replicas =
        launch.replicas.value_or(asked ? integer_in(layers.command_line, replicas_row) : recorded.replicas);
    if (launch.processes == recorded.processes && replicas == recorded.replicas) return;
    recorded.micro_batches =
        checked_product(checked_product(recorded.accumulation, recorded.replicas, "the recorded micro-batches"),
                        recorded.processes, "the recorded micro-batches");
    const bool settled = asked || launch.replicas;
    if (!settled && recorded.micro_batches % (launch.processes * replicas) != 0) replicas = 1;
    refuse_uneven_shares(recorded, replicas, launch);
    refuse_split_norms(task, layers, recorded, replicas, restore_line);
    layers.arguments[&accumulation_row] = recorded.micro_batches / (launch.processes * replicas);
    layers.arguments[&replicas_row] = replicas;
}

ParseResult help_request(const TaskOptions& task, Command command, const HelpWish& wish = {}) {
    ParseResult result;
    result.task = &task;
    result.command = command;
    result.wants_help = true;
    result.help = wish;
    return result;
}

bool asked(const OptionSet& options, const Layer& line, std::string_view key_text) {
    return line.contains(&options.at(key_text));
}

/// The recorded values that neither the line nor its configuration overrides. The data folder of the environment, which
/// serves all lines, replaces the run's only if that is not there any more.
void take_recorded(const TaskOptions& task, Layers& layers, std::vector<std::string>& notices) {
    Layer& taken = layers.arguments;
    taken = layers.recorded;
    for (const Layer* given : {&layers.config, &layers.command_line}) {
        leave_to(task, *given, taken);
        for (const auto& [option, value] : *given)
            taken.erase(option);
    }
    for (const auto& [option, folder] : layers.environment) {
        const auto of_run = taken.find(option);
        if (of_run == taken.end()) continue;
        if (!exists(posix_files(), to_string(of_run->second))) {
            taken.erase(of_run);
        } else if (of_run->second != folder) {
            notices.push_back("the data folder is the run's, " + to_string(of_run->second) +
                              ", and not the environment's, " + to_string(folder) + "; " + std::string(option->flag) +
                              " chooses");
        }
    }
}

NamedConfig named_config(const TaskOptions& task, const OwnWords& line, const Environment& environment) {
    const auto name = line.value("--config");
    if (!name) return {};
    if (task.read_config != nullptr) return task.read_config(*name, environment);
    const auto place = line.value("--config-path");
    const auto places = place ? std::vector{*place} : environment.config_folders;
    return {*name, read_config_layer(task.options(), *name, places)};
}

}  // namespace

Environment process_environment() {
    Environment environment;
    environment.variables = process_variables();
    const auto data_dir = environment.variables.find("DATA_DIR");
    if (data_dir != environment.variables.end()) environment.data_dir = data_dir->second;
    constexpr const char* kFolder = "configs";
    std::vector<fs::path> folders = {kFolder};
    std::error_code ignored;
    const fs::path executable = fs::read_symlink("/proc/self/exe", ignored);
    for (fs::path at = executable.parent_path(); at.has_relative_path(); at = at.parent_path()) {
        folders.push_back(at / kFolder);
        folders.push_back(at / "share/cnntrain" / kFolder);
    }
    folders.emplace_back(CNNTRAIN_CONFIGS_DIR);
    for (const fs::path& folder : folders) {
        if (fs::is_directory(folder, ignored)) environment.config_folders.push_back(folder);
    }
    return environment;
}

const ResolvedOption& ParseResult::at(std::string_view wanted) const {
    const auto found = std::find_if(options.begin(), options.end(),
                                    [&](const ResolvedOption& entry) { return key(*entry.option) == wanted; });
    CNNTRAIN_CHECK(found != options.end(), "no option with key " + std::string(wanted) + " here");
    return *found;
}

std::string ParseResult::flag_of_shared(std::string_view flag) const {
    return std::string(task->options().of_shared(flag).flag);
}

ParseResult parse_command_line(const TaskOptions& task, Command command, const std::vector<std::string>& typed,
                               const Environment& environment, const RecordedRun& run) {
    const OptionSet& all = task.options();
    if (const auto wish = help_wish(typed)) return help_request(task, command, *wish);
    if (task.empty_line_asks_help && typed.empty()) return help_request(task, command);
    OwnWords line = in_own_words(task, command, typed);
    if (!line.refusal.empty()) throw Error(ErrorKind::usage, line.refusal);
    Layers layers;
    layers.environment = environment_layer(task, environment);
    NamedConfig config = named_config(task, line, environment);
    layers.config = std::move(config.layer);
    if (task.takes_published_weights && environment.find_weights)
        replace_names_of_weights(task, command, line, layers.config, environment.find_weights);
    std::vector<std::string> notices = std::move(config.notices);
    if (!line.notice.empty()) notices.insert(notices.begin(), line.notice);
    layers.recorded = recorded_layer(task, command, run, notices);
    if (task.options_of_files != nullptr)
        layers.told = task.options_of_files(command, line, layers.config, layers.findings);
    const std::vector<const Option*> options =
        active_options(task, command, line, layers.config, layers.recorded, layers.told);
    layers.command_line = parse_arguments(all, command, options, line.words);
    if (asked(all, layers.command_line, "help")) return help_request(task, command);
    if (!config.name.empty()) layers.command_line[&all.at("config")] = std::move(config.name);
    for (const auto& [option, value] : layers.command_line)
        layers.config.erase(option);  // an unset variable in an overridden file name is no error
    for (Layer* layer : {&layers.config, &layers.command_line})
        expand_file_names(*layer, environment, notices);
    take_recorded(task, layers, notices);
    ParseResult result = resolve(task, command, options, layers, environment.launch);
    result.notices.insert(result.notices.begin(), notices.begin(), notices.end());
    result.wants_print_config = asked(all, layers.command_line, "print_config");
    result.wants_dry_run = asked(all, layers.command_line, "dry_run");
    return result;
}

std::map<std::string, Value> read_config(const TaskOptions& task, const std::string& config,
                                         const std::vector<std::string>& folders) {
    std::map<std::string, Value> entries;
    for (const auto& [option, value] : read_config_layer(task.options(), config, folders))
        entries[key(*option)] = value;
    return entries;
}

ParseResult resume_from_arguments_json(const TaskOptions& task, std::string_view text,
                                       const ParseResult& restore_line) {
    const OptionSet& all = task.options();
    const Command command = task.commands.front();
    Layers layers;
    layers.arguments = layer_from_json(all, text);
    for (const std::string_view key_text : task.not_resumed)
        layers.arguments.erase(&all.at(key_text));
    for (const ResolvedOption& entry : restore_line.options) {
        if (entry.source != Source::command_line) continue;
        if (const Option* const same = all.with_shared(entry.option->shared_flag))
            layers.command_line[same] = entry.value;
    }
    keep_global_batch(task, layers, recorded_processes(text), restore_line);
    const auto options = active_options(task, command, {}, layers.arguments);
    ParseResult result = resolve(task, command, options, layers, restore_line.launch);
    for (ResolvedOption& entry : result.options) {
        const bool recorded = key(*entry.option) == "seed" && entry.source == Source::arguments;
        if (recorded && seed_was_drawn(text)) entry.source = Source::adjusted;
    }
    result.wants_print_config = restore_line.wants_print_config;
    result.wants_dry_run = restore_line.wants_dry_run;
    return result;
}

bool trains(const Resolution& run) {
    return run.task.trains != nullptr ? run.task.trains(run) : run.command == run.task.commands.front();
}

Settings to_settings(Resolution& run) {
    Settings settings = run.values.finished();
    settings.main.trains = trains(run);
    if (run.task.complete != nullptr) run.task.complete(settings, run);
    return settings;
}

}  // namespace cnntrain::options
