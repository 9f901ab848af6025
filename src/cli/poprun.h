// The path of this program's executable, for commands that start it again.
#pragma once

#include <string>

namespace cnntrain::cli {

/// The path with links resolved. Error(unsupported) without /proc.
std::string own_program();

}  // namespace cnntrain::cli
