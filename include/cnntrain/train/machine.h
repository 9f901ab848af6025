// Describes the machine for the log and for `cnntrain --version --verbose`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/train/settings.h"

namespace cnntrain::train {

/// "cnntrain 0.1.0".
std::string version_line();

/// The first line of the log of a run on an emulated device.
inline constexpr std::string_view kEmulatorNotice =
    "An emulator runs, no IPU: results are those of IPUs, times are those of this machine's processor.";

/// One line each: processor and instruction sets; cores and threads; backend; what would make runs faster.
std::vector<std::string> machine_lines(const backend::Backend& backend, const RunSettings& settings);

}  // namespace cnntrain::train
