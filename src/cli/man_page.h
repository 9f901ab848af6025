// Manual pages, made from the options of all commands and the topics of help.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/program.h"

namespace cnntrain::cli {

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
