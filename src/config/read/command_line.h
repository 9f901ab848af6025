// Parses command-line words into option values by argparse's rules: an exact flag wins over an unambiguous prefix,
// lists extend to the next option, the last of repeated flags counts, and every boolean has a --no- form.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/config/help_page.h"
#include "cnntrain/config/line.h"
#include "cnntrain/config/option_values.h"

namespace cnntrain::config {

/// The few values that decide which options exist. Unknown words are skipped here; the full parse reports them.
struct FrontDoor {
    std::optional<HelpWish> help;
    std::map<std::string_view, std::string> selectors;  // values of OptionSet::selectors() given on the command line
    std::optional<std::string> config;
    std::optional<std::string> config_path;
};

/// All ways to write an option: its flag, its --no- form, its old names.
std::vector<Spelling> spellings_of(const Option& option);
/// Those of all options of a command.
std::vector<Spelling> spellings_of(const OptionSet& options, Command command);

FrontDoor scan_front_door(const OptionSet& all, Command command, const std::vector<std::string>& arguments);

/// Throws Error(usage) for unknown or ambiguous flags and for values that do not fit. `options`: the options in `all`
/// that exist for this command line.
Layer parse_arguments(const OptionSet& all, Command command, const std::vector<const Option*>& options,
                      const std::vector<std::string>& arguments);

}  // namespace cnntrain::config
