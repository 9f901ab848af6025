// A task's part of option parsing: its rows and the functions that resolve their values.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/options/option.h"
#include "cnntrain/options/option_values.h"
#include "cnntrain/options/settings.h"

namespace cnntrain::options {

struct TaskOptions;
struct Environment;
struct OwnWords;

/// Data that a task's steps find in files and hand on to its later steps.
struct Findings {
    virtual ~Findings() = default;
};

/// The state of resolution: settings and their sources, notices and violations.
struct Resolution {
    const TaskOptions& task;
    Command command;
    OptionValues values;
    std::vector<std::string> notices;
    std::vector<std::string> violations;  // messages of violated rules; all are reported together
    std::shared_ptr<Findings> findings;   // null: no step has found any

    const Settings& settings() const { return values.settings(); }
};

/// True if the run trains; false if it only evaluates.
bool trains(const Resolution& run);

/// A configuration named on the command line.
struct NamedConfig {
    std::string name = {};  // the name as found, without accidental extra characters
    Layer layer = {};
    std::vector<std::string> notices = {};  // messages for the user
};

/// Two options for the same quantity: a value from the command line overrides the other option's value from a
/// configuration.
struct Alternatives {
    std::string_view one;
    std::string_view other;
    bool zero_counts = false;  // if true, the value 0 for `one` counts as given
};

struct TaskOptions {
    std::string_view name;          // "pretraining"
    std::vector<Command> commands;  // accepted commands; the first one trains
    /// The rows; constructed once.
    const OptionSet& (*options)();
    /// Example command lines for the help text.
    std::string_view (*examples)(Command command);
    std::vector<Alternatives> alternatives = {};
    /// Reads the configuration named on the command line. Null: a YAML configuration.
    NamedConfig (*read_config)(const std::string& config, const Environment& environment) = nullptr;
    /// True: an empty command line prints the help text.
    bool empty_line_asks_help = false;
    /// True if names of published weights stand for paths.
    bool takes_published_weights = false;
    /// True if the command line trains rather than evaluates. Null: the command decides.
    bool (*trains)(const Resolution& run) = nullptr;

    /// Reads facts about the network from the files that a line names: values for options that neither the line nor its
    /// configuration gives. Error(unsupported) for networks that this program does not have. Null: reads nothing.
    Layer (*options_of_files)(Command command, const OwnWords& line, const Layer& config,
                              std::shared_ptr<Findings>& findings) = nullptr;

    // Steps of resolution. Each runs after the corresponding step that all tasks share.
    /// Fills in unset values that depend on other options. Null: nothing to do.
    void (*fill)(Resolution& run) = nullptr;
    /// Adjusts values and adds a notice for each.
    void (*adjust)(Resolution& run) = nullptr;
    /// Checks rules between options.
    void (*check)(Resolution& run) = nullptr;
    TaskSettings (*settings)();
    /// Sets the members of Settings that depend on several options, after those that depend on one. May add notices.
    void (*complete)(Settings& settings, Resolution& run) = nullptr;

    /// Why an option (by its `acts_on`) has no effect with this run's data; "" if it has one. Null: all options have an
    /// effect.
    std::string (*data_reason)(const Option& option, const Resolution& run) = nullptr;
    /// Options that a resumed run must not take from arguments.json, because other options determine them.
    std::vector<std::string_view> not_resumed = {};
};

/// The message of a violated rule; "" if the rule holds.
using Violation = std::string;

/// A rule between a task's options, and the commands to which it applies.
struct Rule {
    std::uint32_t commands;
    Violation (*check)(const Resolution& run);
};
void check_rules(const std::vector<Rule>& rules, Resolution& run);

// The option rows that tasks share. A task takes the groups or rows that apply to it and changes them with refine().

// The groups, in the order of the help text; one source file each.
std::vector<Option> shared_main_options();
std::vector<Option> shared_run_options();  // ends with the validation options
std::vector<Option> shared_validation_options();
std::vector<Option> shared_data_options();
std::vector<Option> shared_training_options();
std::vector<Option> shared_head_options();
std::vector<Option> shared_loss_options();
std::vector<Option> shared_ipu_options();
std::vector<Option> shared_logging_options();

/// Returns one of these rows. Error(internal) if none has this flag.
Option shared(std::string_view flag);
/// The same for flags that blanks separate.
std::vector<Option> shared_rows(std::string_view flags);

/// The rows for a task with a single command: that command accepts all of them, and they all have an effect in it.
std::vector<Option> for_one_command(std::vector<Option> rows);

}  // namespace cnntrain::options
