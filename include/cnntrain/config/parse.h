// From a command line to Settings: flags, configuration files, defaults, checks; and back to text.
//
//   auto result = parse_command_line(task, Command::train, {"--dataset", "cifar-10"}, process_environment());
//   if (result.wants_help) print(help_text(task, Command::train, "cnntrain train"));
//   if (result.wants_print_config) print(print_config_text(result));
//   refuse_unavailable(result);
//   run(result.settings);
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/variables.h"
#include "cnntrain/config/commands.h"
#include "cnntrain/config/option_values.h"
#include "cnntrain/config/settings.h"
#include "cnntrain/config/task_options.h"

namespace cnntrain::config {

/// The facts of the process that parsing depends on.
struct Environment {
    std::optional<std::string> data_dir;      // DATA_DIR
    std::vector<std::string> config_folders;  // searched in order for *.yml
    Launch launch = {};
    Variables variables = {};  // all, for names of files that have $NAME in them
};

/// All variables, and configs/ in the current folder, beside the executable and above it, and in the source tree.
Environment process_environment();

struct ParseResult {
    const TaskOptions* task = nullptr;  // never null
    Command command = Command::train;
    Settings settings;
    std::vector<ResolvedOption> options;  // every option that the command takes, in table order
    std::vector<std::string> notices;     // for the user: adjusted values, options that only steer IPUs
    Launch launch = {};
    bool wants_help = false;  // settings are not filled in
    bool wants_print_config = false;
    bool wants_dry_run = false;

    /// Value and source of an option by its YAML key; Error(internal) when the command does not take it.
    const ResolvedOption& at(std::string_view key) const;
    /// What the task calls a shared option: "--restore-path" may be "--restore-dir" there.
    std::string flag_of_shared(std::string_view flag) const;
};

/// `arguments` are the words after the command. Error(usage) with all violated rules at once.
ParseResult parse_command_line(const TaskOptions& task, Command command, const std::vector<std::string>& arguments,
                               const Environment& environment);

/// The options and choices in `result` whose capability this version does not have, one sentence each.
std::vector<std::string> unavailable_options(const ParseResult& result);
/// Error(unsupported) naming all of them, if there are any.
void refuse_unavailable(const ParseResult& result);

/// Does a value for `flag` make one for `other` meaningless: are they two names of one option, or two ways to say one
/// thing (--epochs and --iterations)? With or without their hyphens.
bool takes_place_of(const TaskOptions& task, std::string_view flag, std::string_view other);

/// Names of all configurations in `folders`, sorted.
std::vector<std::string> config_names(const std::vector<std::string>& folders);
/// The entries of one configuration by YAML key, merges resolved. An old `mk2_` name finds its successor.
std::map<std::string, Value> read_config(const TaskOptions& task, const std::string& config,
                                         const std::vector<std::string>& folders);
/// The entries of a configuration that is a JSON object of options; null and empty texts are not given. Error(usage)
/// for an unknown key, with the nearest, or a value that does not fit.
Layer layer_of_json_config(const OptionSet& options, std::string_view text);

/// The value of an option that is text of this kind: a list of lists of words. Error(usage) starting with `what`.
std::vector<std::vector<std::string>> word_lists(const std::string& text, const std::string& what);
/// An object whose keys are whole numbers from 0 on and whose values are numbers of at least 0. Error(usage) likewise.
std::map<std::int64_t, double> numbers_by_step(const std::string& text, const std::string& what);

/// `called`: the program as its user calls it.
std::string help_text(const TaskOptions& task, Command command, std::string_view called);
/// Every effective value and who set it, by group.
std::string print_config_text(const ParseResult& result);

/// arguments.json of a run folder: every option and the run's derived values; keys sorted.
std::string arguments_json(const ParseResult& result, const std::map<std::string, Value>& derived);
/// The task whose run an arguments.json describes; "" where it does not say, as those of old versions.
std::string recorded_task(std::string_view text);
/// The training run described by an arguments.json of the task, with everything that `restore_line` (the parsed command
/// line of `restore`) gives laid over it. Keys that are no option are skipped.
ParseResult resume_from_arguments_json(const TaskOptions& task, std::string_view text, const ParseResult& restore_line);

/// Hash over every option that changes the numbers; equal when two runs compute the same thing. How the micro-batches
/// of a weight update are shared out over accumulation, replicas and processes does not count.
std::string numerics_fingerprint(const ParseResult& result);

}  // namespace cnntrain::config
