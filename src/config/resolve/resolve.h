// The steps between what the user gave and Settings. Each works on the values of one command.
#pragma once

#include <string>

#include "cnntrain/config/task_options.h"

namespace cnntrain::config {

// What all tasks have in common; each is followed by the task's own.

/// Of two options that mean the same thing, the one from the stronger source stays.
void settle_alternatives(Resolution& run);
/// Values changed with a notice.
void adjust_shared(Resolution& run);
/// Rules between options.
void check_shared(Resolution& run);

/// Why an option changes nothing, whatever its value; "" when it acts. What only steers other backends is not meant.
std::string idle_reason(const Option& option, const Resolution& run);
/// Notices that name the options that were given and change nothing: one for each backend of all that only steer it.
void notice_idle_options(Resolution& run);
/// Settings of resolved values.
Settings to_settings(const Resolution& run);

}  // namespace cnntrain::config
