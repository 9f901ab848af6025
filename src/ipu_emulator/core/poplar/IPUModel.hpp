#pragma once

#include <string>

#include <poplar/Device.hpp>

namespace poplar {

/// A device with any number of IPUs and tiles.
struct IPUModel {
    explicit IPUModel(const char* IPUVersion_ = "ipu2") : IPUVersion(IPUVersion_) {}

    std::string IPUVersion;
    unsigned numIPUs = 1;
    unsigned tilesPerIPU = 1472;

    Device createDevice(const OptionFlags& options = {}, bool accurateHalf = false, unsigned deviceManagerId = 0) const;
};

}  // namespace poplar
