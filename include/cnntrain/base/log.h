// Diagnostics on stderr (notices, warnings, debug). Not for the run's own report: that is metrics/.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace cnntrain::log {

enum class Level { debug, info, warning, error };

void set_level(Level level);

/// Warnings and errors in colour; off by default.
void set_colours(bool on);

/// Makes another text of each line, which is then printed without level and prefix; empty: lines are printed as text.
using Format = std::string (*)(std::string_view level, std::string_view message);
void set_format(Format format);

/// Called before each line by the thread that logs it, so that a line that is rewritten in place can be removed first;
/// empty: not called.
void set_before_line(std::function<void()> before);

void debug(const std::string& message);
void info(const std::string& message);
void warning(const std::string& message);
void error(const std::string& message);

}  // namespace cnntrain::log
