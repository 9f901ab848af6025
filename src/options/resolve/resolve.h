// The steps from given option values to Settings. Each works on the values of one command.
#pragma once

#include <cstdint>
#include <string>

#include "cnntrain/options/task_options.h"

namespace cnntrain::options {

// The steps that all tasks share; the task's own step follows each.

/// Keeps, of two options for the same quantity, the one from the source with higher precedence.
void settle_alternatives(Resolution& run);
/// Adjusts values and adds notices.
void adjust_shared(Resolution& run);
/// Checks rules between options.
void check_shared(Resolution& run);

/// Why an option has no effect, whatever its value; "" if it has one. Does not consider the backend.
std::string idle_reason(const Option& option, const Resolution& run);
/// True if an option steers the backend of this run.
bool steers_backend(const Option& option, const OptionValues& values);
/// A set of backends as text for help and notices: "IPUs", "--backend cpu or ipu".
std::string backend_names(std::uint32_t backends);
/// Adds notices about given options without effect; options that only steer other backends share one notice per set of
/// backends.
void notice_idle_options(Resolution& run);
/// Settings from resolved values. May add notices.
Settings to_settings(Resolution& run);

}  // namespace cnntrain::options
