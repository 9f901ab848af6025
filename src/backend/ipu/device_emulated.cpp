#include <poplar/IPUModel.hpp>

#include "backend/ipu/device.h"
#include "cnntrain/base/error.h"

namespace cnntrain::ipu {
namespace {
constexpr unsigned kMostIpus = 64;  // of one host
}

std::string executed_by() {
    return "an emulator of IPUs";
}

bool is_emulated() {
    return true;
}

poplar::Device attach_device(unsigned ipus, std::optional<unsigned> tiles_per_ipu) {
    if (ipus > kMostIpus) {
        throw Error(ErrorKind::unsupported, std::to_string(ipus) + " IPUs are needed, the emulator has " +
                                                std::to_string(kMostIpus) + ": use fewer --replicas or stages");
    }
    poplar::IPUModel model;
    model.numIPUs = ipus;
    model.tilesPerIPU = tiles_per_ipu.value_or(model.tilesPerIPU);
    return model.createDevice();
}

}  // namespace cnntrain::ipu
