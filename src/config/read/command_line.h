// Words of a command line to option values, with argparse's habits: unambiguous prefixes, an exact name first,
// lists up to the next option, the last of repeated flags; and a --no- form of every boolean.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/read/option_values.h"

namespace cnntrain::config {

/// The few values that decide which options exist. Unknown words are passed over, as the strict pass will judge them.
struct FrontDoor {
    bool help = false;
    std::optional<std::string> model;
    std::optional<std::string> lr_schedule;
    std::optional<std::string> config;
    std::optional<std::string> config_path;
};

FrontDoor scan_front_door(Command command, const std::vector<std::string>& arguments);

/// Error(usage) for unknown and ambiguous flags and for values that do not fit.
Layer parse_arguments(Command command, const std::vector<const Option*>& options,
                      const std::vector<std::string>& arguments);

}  // namespace cnntrain::config
