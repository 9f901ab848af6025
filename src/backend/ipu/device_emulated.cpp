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

poplar::Device attach_device(unsigned ipus, unsigned tiles_per_ipu) {
    if (ipus > kMostIpus) {
        throw Error(ErrorKind::unsupported, std::to_string(ipus) + " IPUs are needed, the emulator has " +
                                                std::to_string(kMostIpus) + ": use fewer --replicas or stages");
    }
    poplar::IPUModel model;
    model.numIPUs = ipus;
    model.tilesPerIPU = tiles_per_ipu;
    return model.createDevice();
}

}  // namespace cnntrain::ipu
