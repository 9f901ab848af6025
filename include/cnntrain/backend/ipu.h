// The IPU backend: graphs become programs of the public Poplar, PopLibs and GCL API. The build decides what executes
// them: a Poplar SDK, or the emulator in src/ipu_emulator.
#pragma once

#include <memory>

#include "cnntrain/backend/backend.h"

namespace cnntrain::backend {

struct IpuSettings {
    unsigned tiles_per_ipu = 1472;  // of emulated IPUs; real ones have their own number
};

/// "ipu". The 16-bit type is IEEE half. Null in a build with -DCNNTRAIN_IPU=OFF.
std::unique_ptr<Backend> make_ipu_backend(const IpuSettings& settings = {});

}  // namespace cnntrain::backend
