#include <utility>

#include <poplar/DeviceManager.hpp>

#include "backend/ipu/device.h"
#include "cnntrain/base/error.h"

namespace cnntrain::ipu {

std::string executed_by() {
    return CNNTRAIN_POPLAR_SDK_NAME;
}

bool is_emulated() {
    return false;
}

poplar::Device attach_device(unsigned ipus, std::optional<unsigned> /*tiles_per_ipu*/) {
    const poplar::DeviceManager manager = poplar::DeviceManager::createDeviceManager();
    std::vector<poplar::Device> devices = manager.getDevices(poplar::TargetType::IPU, ipus);
    for (poplar::Device& device : devices) {
        if (device.attach()) return std::move(device);
    }
    const std::string needed = std::to_string(ipus) + (ipus == 1 ? " IPU is" : " IPUs are");
    throw Error(ErrorKind::unsupported,
                devices.empty() ? needed +
                                      " needed, and this host has no device of that size: use other --replicas or "
                                      "--shards, or make a partition of that size"
                                : needed + " needed, and other programs use all devices of that size (" +
                                      std::to_string(devices.size()) + "): end one of them, or wait");
}

}  // namespace cnntrain::ipu
