// The commands of cnntrain and the script names that they answer to.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace cnntrain::config {

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
};

struct CommandInfo {
    Command command;
    std::string_view name;
    std::vector<std::string_view> scripts;  // program names that mean the same command
    std::string_view help;
};

/// Every command, in the order in which help lists them.
const std::vector<CommandInfo>& commands();

const CommandInfo& info(Command command);
std::string_view name(Command command);

/// The command called `word`: its name, a script name, or a path that ends in a script name
/// (`some/folder/train.py`). Error(usage) with the nearest name when there is none.
Command command_named(std::string_view word);

/// Scripts of another project that this program stands for without a command of its own: training and evaluation.
inline constexpr std::string_view kRecipeScripts[] = {"resnet_main.py", "resnet_eval.py"};

/// Is `word` the name of a script that this program stands for, or a path that ends in one?
bool is_script(std::string_view word);

/// Why this program does not stand for an original script (a name, or a path that ends in one); "" for all others.
std::string_view why_not_here(std::string_view script);

/// What the names of configurations, benchmarks and scripts say of a network or a task that is not part of this program
/// (GroupBERT, SQuAD, GLUE), as a sentence; "" when they say none.
std::string_view missing_part(std::string_view name);

}  // namespace cnntrain::config
