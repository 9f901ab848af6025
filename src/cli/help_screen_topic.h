// The help topic on what a run prints.
#pragma once

#include <string>

namespace cnntrain::cli {

/// Ends with a table of the events of --log-format json.
std::string screen_topic();

}  // namespace cnntrain::cli
