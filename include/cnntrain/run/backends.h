// The backend of a run, its cores and its number formats.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/cores.h"
#include "cnntrain/graph/settings.h"
#include "cnntrain/options/settings.h"

namespace cnntrain::run {

/// Null if the program was built without the backend.
std::unique_ptr<backend::Backend> available_backend(backend::BackendKind kind);
/// Error(unsupported) if the program was built without the backend.
std::unique_ptr<backend::Backend> make_backend(backend::BackendKind kind);

/// True if the backend's device is emulated (BackendInfo).
bool is_emulated(const RunSettings& settings);

/// Cores for --threads and --input-threads on this machine.
CoreBudget core_budget(const RunSettings& settings);
/// Number of compute threads on this machine.
int compute_threads(const RunSettings& settings);

/// The data type in which activations are computed, with the reason.
backend::Arithmetic arithmetic(const nn::PrecisionSettings& settings, const backend::Backend& backend);
nn::NumericsSettings numerics(const nn::PrecisionSettings& settings, const backend::Backend& backend);

// Describes the machine for the log and for `cnntrain --version --verbose`.

/// "cnntrain 0.1.0".
std::string version_line();

/// The first line of the log of a run on an emulated device.
inline constexpr std::string_view kEmulatorNotice =
    "An emulator runs, no IPU: results are those of IPUs, times are those of this machine's processor.";

/// One line each: processor and instruction sets; cores and threads; backend; what would make runs faster.
std::vector<std::string> machine_lines(const backend::Backend& backend, const RunSettings& settings);

}  // namespace cnntrain::run
