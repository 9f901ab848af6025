// Options of an engine.
#pragma once

#include <poplar/OptionFlags.hpp>

namespace ipu_emulator {

/// `options`, overridden by the JSON object of strings in POPLAR_ENGINE_OPTIONS. Throws invalid_option for other text.
poplar::OptionFlags with_environment(const poplar::OptionFlags& options);

/// Throws invalid_option for unknown names, and for values of another kind than the option's.
void check_engine_options(const poplar::OptionFlags& options);

}  // namespace ipu_emulator
