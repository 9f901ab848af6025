// The IPU backend: graphs become programs of the public Poplar, PopLibs and GCL API. The build decides what executes
// them: a Poplar SDK, or the emulator in src/ipu_emulator.
#pragma once

#include <cstdint>
#include <memory>

#include "cnntrain/backend/backend.h"

namespace cnntrain::backend {

struct IpuSettings {
    unsigned tiles_per_ipu = 1472;  // of emulated IPUs; real ones have their own number
    /// The states of optimisers lie in remote buffers, unless they are smaller than min_remote_tensor_bytes (times the
    /// replicas, where the optimiser is sharded).
    bool offload_variables = true;
    std::int64_t min_remote_tensor_bytes = 128;
};

/// "ipu". The 16-bit type is IEEE half. Null in a build with -DCNNTRAIN_IPU=OFF.
std::unique_ptr<Backend> make_ipu_backend(const IpuSettings& settings = {});

}  // namespace cnntrain::backend
