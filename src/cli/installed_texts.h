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

// Manual pages, made from the options of all commands and the topics of help.

struct ManPages {
    std::vector<CommandPage> commands;
    std::string version;  // "cnntrain 0.1.0"
    std::string date;     // "2026-11-25"
};

/// The names of all pages: "cnntrain.1", "cnntrain-train.1", ...
std::vector<std::string> man_names(const ManPages& pages);

/// A page in the language of man(7). `name`: one of man_names(), with or without "cnntrain-" and the section. Throws
/// Error(usage) for any other.
std::string man_page(const ManPages& pages, std::string_view name);

/// The date of SOURCE_DATE_EPOCH, or else today's.
std::string man_date();

}  // namespace cnntrain::cli
