#pragma once

#include <cstddef>
#include <vector>

#include <poplar/Device.hpp>

namespace poplar {

/// The devices of this host: one of 1, 2, 4, ... 64 IPUs each, all emulated.
class DeviceManager {
public:
    static DeviceManager createDeviceManager() { return {}; }

    std::vector<Device> getDevices() const;
    /// The devices of `type` with `requiredNumIPUs` IPUs; none if there is no such device.
    std::vector<Device> getDevices(TargetType type, unsigned requiredNumIPUs, const OptionFlags& options = {}) const;
    Device getDevice(unsigned deviceManagerId, const OptionFlags& options = {}) const;
};

}  // namespace poplar
