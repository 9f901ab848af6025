// Converts words to option values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/options/line.h"
#include "cnntrain/options/option.h"
#include "cnntrain/options/option_values.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/options/task_options.h"

namespace cnntrain::options {

/// The option's value from words of a command line, or from the scalars of a file's entry. Throws Error(usage) stating
/// what the option expects.
Value convert(const Option& option, const std::vector<std::string>& words);

// Reads arguments.json.

/// A JSON list or object without blanks. Throws Error(data) for any other text.
std::string compact_json(std::string_view text);

/// True if arguments.json records that the seed was drawn because none was given.
bool seed_was_drawn(std::string_view text);

/// The recorded number of processes; 1 if it is not recorded.
std::int64_t recorded_processes(std::string_view text);

// The options of a run that evaluations of its checkpoints take from its record.

/// True if an evaluation by one of `commands` takes the recorded value (Option::recorded).
bool is_of_evaluation(const Option& option, std::uint32_t commands);

/// The recorded values that `command` takes. A damaged record gives none and a notice.
Layer recorded_layer(const TaskOptions& task, Command command, const RecordedRun& run,
                     std::vector<std::string>& notices);

/// Removes the recorded values whose alternatives `given` has: of --batch-norm and --group-norm, one counts.
void leave_to(const TaskOptions& task, const Layer& given, Layer& recorded);

/// One notice for each option that changes the numbers of the evaluation and has another value than the run's.
void notice_differences(const Layer& recorded, Resolution& run);

// Parses command-line words into option values by argparse's rules: an exact flag wins over an unambiguous prefix,
// lists extend to the next option, the last of repeated flags counts, and every boolean has a --no- form.

/// All ways to write an option: its flag, its --no- form, its old names.
std::vector<Spelling> spellings_of(const Option& option);
/// All ways to write the options of a command.
std::vector<Spelling> spellings_of(const OptionSet& options, Command command);

/// Throws Error(usage) for unknown or ambiguous flags and for values that do not fit. `options`: the options in `all`
/// that exist for this command line.
Layer parse_arguments(const OptionSet& all, Command command, const std::vector<const Option*>& options,
                      const std::vector<std::string>& arguments);

// Words of a command line (cnntrain/options/line.h).

/// True for a hyphen followed by more, except for a negative number.
bool is_flag(const std::string& word);

/// The spelling with this full name, or one of those that it abbreviates if they all mean the same; else null.
const Spelling* spelling_of(const std::vector<Spelling>& known, std::string_view name);

// Reads named configurations from YAML files: mappings from a name to option values, with YAML 1.1 merge keys.

/// The entries of a configuration. `places`: *.yml files, or folders of them, searched in order. Old option names are
/// accepted as keys. Throws Error(usage) with the nearest name for an unknown key, value or configuration.
Layer read_config_layer(const OptionSet& options, const std::string& config, const std::vector<std::string>& places);

// File names in option values.

/// Replaces environment variables ($NAME, ${NAME}) in options marked Option::expands; the shell does not replace them
/// in files or in single quotes. A relative path that starts with a variable's name, where no such file exists, is
/// assumed to lack its $: it is expanded too, with a notice. Throws Error(usage) if a variable is not set.
void expand_file_names(Layer& layer, const Environment& environment, std::vector<std::string>& notices);

// The steps from given option values to Settings. Each works on the values of one command.

// The steps that all tasks share; the task's own step follows each.

/// Keeps, of two options for the same quantity, the one from the source with higher precedence.
void settle_alternatives(Resolution& run);
/// Adjusts values and adds notices.
void adjust_shared(Resolution& run);
/// Checks rules between options.
void check_shared(Resolution& run);

/// Why an option has no effect, whatever its value; "" if it has one. Does not consider the backend.
std::string idle_reason(const Option& option, const Resolution& run);
/// True if an option steers the backend of this run.
bool steers_backend(const Option& option, const OptionValues& values);
/// A set of backends as text for help and notices: "IPUs", "--backend cpu or ipu".
std::string backend_names(std::uint32_t backends);
/// Adds notices about given options without effect; options that only steer other backends share one notice per set of
/// backends.
void notice_idle_options(Resolution& run);
/// Settings from resolved values. May add notices.
Settings to_settings(Resolution& run);

}  // namespace cnntrain::options
