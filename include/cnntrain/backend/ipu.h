// The IPU backend: graphs become programs of the public Poplar, PopLibs and GCL API. The build decides what executes
// them: a Poplar SDK, or the emulator in src/ipu_emulator.
#pragma once

#include <memory>
#include <optional>

#include "cnntrain/backend/backend.h"

namespace cnntrain::backend {

struct IpuModelSettings {
    std::optional<unsigned> tiles_per_ipu = {};  // compiles for a model of IPUs with so many tiles, not for a device
};

/// "ipu". The 16-bit type is IEEE half. Null in a build with -DCNNTRAIN_IPU=OFF.
std::unique_ptr<Backend> make_ipu_backend(const IpuModelSettings& settings = {});

}  // namespace cnntrain::backend
