// The commands of cnntrain and the names of the original scripts that select them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace cnntrain::options {

enum class Command : std::uint8_t {
    train,
    validation,
    restore,
    inference,
    pretrain,
    average,
    analyse,
    dataset,
    benchmark,
    poprun,
    convert,
    report,
    profile,
    plan,
    demo,
};

struct CommandInfo {
    Command command;
    std::string_view name;
    std::vector<std::string_view> scripts;  // names of original scripts that select this command
    std::string_view help;
};

/// All commands, in the order of the help text.
const std::vector<CommandInfo>& commands();

const CommandInfo& info(Command command);
std::string_view name(Command command);

/// The command with this name or script name; a path that ends in a script name (`some/folder/train.py`) is accepted
/// too. Throws Error(usage) with the nearest name if no command matches.
Command command_named(std::string_view word);

/// Scripts of another project that this program can run in place of, although no command is named after them: training
/// and evaluation.
inline constexpr std::string_view kRecipeScripts[] = {"resnet_main.py", "resnet_eval.py"};

/// True if `word` is the name of a script that this program can run in place of, or a path that ends in such a name.
bool is_script(std::string_view word);

/// The reason why this program does not replace an original script (given by name or path); "" for any other word.
std::string_view why_not_here(std::string_view script);

/// One sentence if the name of a configuration, benchmark or script refers to a network or task that is not part of
/// this program (GroupBERT, SQuAD, GLUE); otherwise "".
std::string_view missing_part(std::string_view name);

}  // namespace cnntrain::options
