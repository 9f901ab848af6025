// The backend that a run computes with, its cores and its number formats.
#pragma once

#include <memory>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/cores.h"
#include "cnntrain/nn/settings.h"
#include "cnntrain/train/settings.h"

namespace cnntrain::train {

/// Error(unsupported) for one that this version does not have.
std::unique_ptr<backend::Backend> make_backend(backend::BackendKind kind);

/// --threads and --input-threads on this machine.
CoreBudget core_budget(const RunSettings& settings);
/// How many threads compute on this machine.
int compute_threads(const RunSettings& settings);

/// What activations are computed in, and why.
backend::Arithmetic arithmetic(const nn::PrecisionSettings& settings, const backend::Backend& backend);
nn::NumericsSettings numerics(const nn::PrecisionSettings& settings, const backend::Backend& backend);

}  // namespace cnntrain::train
