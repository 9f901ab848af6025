// Replaces the IPU backend in builds with -DCNNTRAIN_IPU=OFF.
#include "cnntrain/backend/backends.h"

namespace cnntrain::backend {

std::unique_ptr<Backend> make_ipu_backend(const IpuModelSettings& /*settings*/) {
    return nullptr;
}

}  // namespace cnntrain::backend
