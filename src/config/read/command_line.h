// Words of a command line to option values, with argparse's habits: unambiguous prefixes, an exact name first,
// lists up to the next option, the last of repeated flags; and a --no- form of every boolean.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/config/option_values.h"

namespace cnntrain::config {

/// The few values that decide which options exist. Unknown words are passed over, as the strict pass will judge them.
struct FrontDoor {
    bool help = false;
    std::map<std::string_view, std::string> selectors;  // OptionSet::selectors() that are given
    std::optional<std::string> config;
    std::optional<std::string> config_path;
};

FrontDoor scan_front_door(const OptionSet& all, Command command, const std::vector<std::string>& arguments);

/// Error(usage) for unknown and ambiguous flags and for values that do not fit.
/// `options`: those of `all` that exist.
Layer parse_arguments(const OptionSet& all, Command command, const std::vector<const Option*>& options,
                      const std::vector<std::string>& arguments);

}  // namespace cnntrain::config
