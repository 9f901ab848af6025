// What a task tells the options' engine: its rows, and how its values are worked out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/config/option.h"
#include "cnntrain/config/option_values.h"
#include "cnntrain/config/settings.h"

namespace cnntrain::config {

struct TaskOptions;
struct Environment;

/// Values that are being worked out, and what there is to say about them.
struct Resolution {
    const TaskOptions& task;
    Command command;
    OptionValues values;
    std::vector<std::string> notices;
    std::vector<std::string> violations;  // of rules; all are reported together
};

/// Rather than evaluating only.
bool trains(const Resolution& run);

/// A configuration that a line names.
struct NamedConfig {
    std::string name = {};  // without what a slip has added
    Layer layer = {};
    std::vector<std::string> notices = {};  // for the user
};

/// Two ways to say one thing: a configuration's gives way to the command line's.
struct Alternatives {
    std::string_view one;
    std::string_view other;
    bool zero_counts = false;  // does 0 for `one` say something?
};

struct TaskOptions {
    std::string_view name;          // "pretraining"
    std::vector<Command> commands;  // that it serves; the first one trains
    /// The rows, made once.
    const OptionSet& (*options)();
    /// Lines to begin with, for help.
    std::string_view (*examples)(Command command);
    std::vector<Alternatives> alternatives = {};
    /// Reads the configuration that a line names; null: one of YAML.
    NamedConfig (*read_config)(const std::string& config, const Environment& environment) = nullptr;
    /// Is a line without a word a question for help?
    bool empty_line_asks_help = false;
    /// Does the line train rather than evaluate? Null: as its command does.
    bool (*trains)(const Resolution& run) = nullptr;

    // The steps from values to settings, after those that all tasks have in common.
    /// Finds what is not given: defaults that depend on other options. Null: nothing.
    void (*fill)(Resolution& run) = nullptr;
    /// Changes values, with a notice.
    void (*adjust)(Resolution& run) = nullptr;
    /// Rules between options.
    void (*check)(Resolution& run) = nullptr;
    TaskSettings (*settings)();
    /// Members that several options decide, after those that one option decides.
    void (*complete)(Settings& settings, const Resolution& run) = nullptr;

    /// Why an option changes nothing with the data of this run, by its `acts_on`; "" when it acts. Null: they all act.
    std::string (*data_reason)(const Option& option, const OptionValues& values) = nullptr;
    /// What a run that goes on must not take from its arguments.json, because other options say more.
    std::vector<std::string_view> not_resumed = {};
};

/// "" when the rule holds.
using Violation = std::string;

/// A rule of a task, and the commands in which it holds.
struct Rule {
    std::uint32_t commands;
    Violation (*check)(const OptionValues& values);
};
void check_rules(const std::vector<Rule>& rules, Resolution& run);

}  // namespace cnntrain::config
