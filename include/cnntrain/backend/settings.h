// The user's settings for the machine that computes.
#pragma once

#include <cstdint>

namespace cnntrain::backend {

enum class BackendKind : std::uint8_t { cpu, ref, ipu };

/// Rounding of 16-bit weights in training. The modes of a stable random generator differ on IPUs only.
enum class StochasticRounding : std::uint8_t { on, on_prng_stable, ri_prng_stable, off };

}  // namespace cnntrain::backend
