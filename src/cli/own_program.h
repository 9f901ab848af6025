// The file of this program, for commands that start it again.
#pragma once

#include <string>

namespace cnntrain::cli {

/// Its path, links followed. Error(unsupported) without /proc.
std::string own_program();

}  // namespace cnntrain::cli
