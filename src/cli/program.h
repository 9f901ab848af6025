// The commands of the program: their functions and their help.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cnntrain/options/commands.h"

namespace cnntrain::cli {

struct CommandEntry {
    options::Command command;
    int (*run)(const Invocation&);
    options::HelpPage (*page)(const std::string& called) = nullptr;  // null: tasks have it, or each kind of `dataset`
};

/// Null for a command that tasks implement.
const CommandEntry* command_entry(options::Command command);

/// Returns the exit code of the process; may throw Error.
int run_command(options::Command command, const Invocation& invocation);

/// Programs of another project. They are selected by script name only and take that project's flags.
struct ForeignProgram {
    std::string_view script;
    std::string_view help;
    CommandFlags (*flags)();
    int (*run)(const Invocation&);
};

std::span<const ForeignProgram> foreign_programs();

/// The program with this name, or a path that ends in it; null if there is none.
const ForeignProgram* foreign_program(std::string_view word);

struct CommandPage {
    std::string command;               // "train", "dataset cifar", "resnet_main.py"
    std::vector<std::string> scripts;  // other words that select it
    std::string summary;               // what it does, without a capital letter
    options::HelpPage page;            // with the options of all tasks
};

/// All available commands, in the order of the overview. Completion and manual pages are made from them.
std::vector<CommandPage> command_pages();

}  // namespace cnntrain::cli
