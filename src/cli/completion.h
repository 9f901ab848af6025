// Completion of command lines in shells, made from the options of all commands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/program.h"

namespace cnntrain::cli {

inline constexpr std::string_view kShells[] = {"bash", "fish", "zsh"};

/// The script that a shell reads. `topics`: words after "cnntrain help", besides the commands. Throws Error(usage) for
/// a shell without completion.
std::string completion_script(std::string_view shell, const std::vector<CommandPage>& pages,
                              const std::vector<std::string>& topics);

}  // namespace cnntrain::cli
