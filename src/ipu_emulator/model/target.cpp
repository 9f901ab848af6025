#include <poplar/Device.hpp>
#include <poplar/DeviceManager.hpp>
#include <poplar/IPUModel.hpp>
#include <poplar/Target.hpp>
#include <poplar/Type.hpp>
#include <poplar/exceptions.hpp>

#include "ipu_emulator/model/options.h"

namespace poplar {

using namespace ipu_emulator;

namespace {

constexpr unsigned kTilesPerIpu = 1472;
constexpr unsigned kDeviceSizes = 7;  // 1, 2, 4, ... 64 IPUs

void check_architecture(const std::string& name) {
    if (name != "ipu2") {
        throw invalid_option("Target: expected the architecture \"ipu2\", got \"" + name +
                             "\"; the emulator knows no other");
    }
}

}  // namespace

std::string Type::toString() const {
    static constexpr const char* kNames[] = {"bool",         "char",           "signed char", "unsigned char",
                                             "short",        "unsigned short", "half",        "int",
                                             "unsigned int", "float",          "longlong",    "unsigned longlong"};
    return kNames[static_cast<unsigned>(id_)];
}

Target Target::createIPUTarget(unsigned numIPUs, StringRef systemType, const OptionFlags& options) {
    return createIPUTarget(numIPUs, kTilesPerIpu, systemType, options);
}

Target Target::createIPUTarget(unsigned numIPUs, unsigned tilesPerIPU, StringRef systemType,
                               const OptionFlags& options) {
    check_architecture(systemType.cloneAsString());
    check_options("Target::createIPUTarget", options, {"gatewayMode", "ipuLinkTopology", "syncConfiguration"});
    return Target(TargetType::IPU, numIPUs, tilesPerIPU);
}

std::vector<Device> DeviceManager::getDevices() const {
    std::vector<Device> devices;
    for (unsigned id = 0; id < kDeviceSizes; ++id)
        devices.push_back(getDevice(id));
    return devices;
}

std::vector<Device> DeviceManager::getDevices(TargetType type, unsigned requiredNumIPUs,
                                              const OptionFlags& options) const {
    check_options("DeviceManager::getDevices", options, {});
    std::vector<Device> devices;
    if (type != TargetType::IPU) return devices;
    for (unsigned id = 0; id < kDeviceSizes; ++id)
        if (1u << id == requiredNumIPUs) devices.push_back(getDevice(id));
    return devices;
}

Device DeviceManager::getDevice(unsigned deviceManagerId, const OptionFlags& options) const {
    check_options("DeviceManager::getDevice", options, {});
    if (deviceManagerId >= kDeviceSizes) {
        throw index_error("DeviceManager::getDevice: there are devices 0 to " + std::to_string(kDeviceSizes - 1) +
                          ", not " + std::to_string(deviceManagerId));
    }
    return Device(Target(TargetType::IPU, 1u << deviceManagerId, kTilesPerIpu), deviceManagerId);
}

Device IPUModel::createDevice(const OptionFlags& options, bool, unsigned deviceManagerId) const {
    check_architecture(IPUVersion);
    check_options("IPUModel::createDevice", options, {});
    return Device(Target(TargetType::IPU_MODEL, numIPUs, tilesPerIPU), deviceManagerId);
}

}  // namespace poplar
