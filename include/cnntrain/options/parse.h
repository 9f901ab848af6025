// Turns a command line into Settings: flags, configuration files, defaults and checks. Also prints options as text.
//
//   auto result = parse_command_line(task, Command::train, {"--dataset", "cifar-10"}, process_environment());
//   if (result.wants_help) print(help_text(help_page(task, Command::train, "cnntrain train"), result.help));
//   if (result.wants_print_config) print(print_config_text(result));
//   refuse_unavailable(result);
//   run(result.settings);
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/environment.h"
#include "cnntrain/options/commands.h"
#include "cnntrain/options/option_values.h"
#include "cnntrain/options/settings.h"
#include "cnntrain/options/task_options.h"

namespace cnntrain::options {

/// Inputs of parsing in addition to the command line.
struct Environment {
    std::optional<std::string> data_dir;      // DATA_DIR
    std::vector<std::string> config_folders;  // folders searched in order for *.yml files
    Launch launch = {};
    Variables variables = {};  // all environment variables, to replace $NAME in file names
    FindWeights find_weights = {};
};

/// The environment of this process: all variables, and as config_folders the configs/ folders in the current folder,
/// beside the executable and above it, and in the source tree.
Environment process_environment();

struct ParseResult {
    const TaskOptions* task = nullptr;  // never null
    Command command = Command::train;
    Settings settings;
    std::vector<ResolvedOption> options;  // all options that the command accepts, in table order
    std::vector<std::string> notices;     // messages for the user: adjusted values, options without effect
    Launch launch = {};
    bool wants_help = false;  // if true, `settings` is not filled in
    HelpWish help = {};       // the part that is wanted then
    bool wants_print_config = false;
    bool wants_dry_run = false;

    /// Value and source of the option with this YAML key. Error(internal) if the command does not accept it.
    const ResolvedOption& at(std::string_view key) const;
    /// The task's own flag for a shared option: a task may rename "--restore-path" to "--restore-dir".
    std::string flag_of_shared(std::string_view flag) const;
};

/// The options that a run has recorded, for the commands that evaluate its checkpoints.
struct RecordedRun {
    std::string source = {};  // the file, for messages
    std::string text = {};    // a JSON object as of arguments_json() or evaluation_json(); "": there is no record
};

/// `arguments`: the words after the command. `run`: the run whose checkpoints the command evaluates; its options
/// (Option::recorded) replace the defaults. Throws one Error(usage) that lists all violated rules.
ParseResult parse_command_line(const TaskOptions& task, Command command, const std::vector<std::string>& arguments,
                               const Environment& environment, const RecordedRun& run = {});

/// One sentence for each option or choice in `result` that needs a capability this version lacks.
std::vector<std::string> unavailable_options(const ParseResult& result);
/// Throws Error(unsupported) with all of these sentences, if there are any.
void refuse_unavailable(const ParseResult& result);

/// True if a value for `flag` replaces a value for `other`: both name the same option, or they are alternatives such as
/// --epochs and --iterations. Leading hyphens are optional.
bool takes_place_of(const TaskOptions& task, std::string_view flag, std::string_view other);

/// The names of all configurations in `folders`, sorted.
std::vector<std::string> config_names(const std::vector<std::string>& folders);
/// The entries of one configuration by YAML key, with merge keys resolved. A name with the old prefix `mk2_` also finds
/// the configuration without it.
std::map<std::string, Value> read_config(const TaskOptions& task, const std::string& config,
                                         const std::vector<std::string>& folders);
/// Reads a configuration that is a JSON object of options; null and empty strings count as not given. Throws
/// Error(usage) for an unknown key, naming the nearest one, or for a value that does not fit.
Layer layer_of_json_config(const OptionSet& options, std::string_view text);

/// The `wanted` options in an arguments.json, or all of them, without unset values and unknown keys. Throws Error(data)
/// if the text is damaged.
Layer layer_from_json(const OptionSet& options, std::string_view text,
                      const std::function<bool(const Option&)>& wanted = {});

/// The options of a command for one task. `called`: the program name as the user typed it.
HelpPage help_page(const TaskOptions& task, Command command, std::string_view called);
/// All effective values with their sources, by group.
std::string print_config_text(const ParseResult& result);

/// The arguments.json of a run folder: all options and the run's derived values, sorted by key.
std::string arguments_json(const ParseResult& result, const std::map<std::string, Value>& derived);
/// The options of a training run that evaluations of its checkpoints take, without names of files: stored in
/// checkpoints, so that one can be evaluated away from its run's folder.
std::string evaluation_json(const ParseResult& result);
/// The task recorded in an arguments.json; "" if none is recorded, as in files of old versions.
std::string recorded_task(std::string_view text);
/// Restores the training run that an arguments.json of the task describes. `restore_line`, the parsed command line of
/// `restore`, overrides its values. Keys that name no option are skipped.
ParseResult resume_from_arguments_json(const TaskOptions& task, std::string_view text, const ParseResult& restore_line);

/// Hash of all options that change numerical results: equal if two runs compute the same numbers. The hash ignores how
/// the micro-batches of a weight update are divided among accumulation steps, replicas and processes.
std::string numerics_fingerprint(const ParseResult& result);

}  // namespace cnntrain::options
