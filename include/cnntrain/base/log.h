// Diagnostics on stderr (notices, warnings, debug). Not for the run's own report: that is metrics/.
#pragma once

#include <string>

namespace cnntrain::log {

enum class Level { debug, info, warning, error };

void set_level(Level level);

/// Prefix for every line, for example "[rank 3] "; empty by default.
void set_prefix(const std::string& prefix);

void debug(const std::string& message);
void info(const std::string& message);
void warning(const std::string& message);
void error(const std::string& message);

}  // namespace cnntrain::log
