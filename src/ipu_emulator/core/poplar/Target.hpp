#pragma once

#include <poplar/OptionFlags.hpp>
#include <poplar/StringRef.hpp>
#include <poplar/TargetType.hpp>

namespace poplar {

/// Numbers of IPUs and tiles of the second generation (GC200).
class Target {
public:
    /// `numIPUs` whole IPUs of the architecture "ipu2". Throws invalid_option for another one.
    static Target createIPUTarget(unsigned numIPUs, StringRef systemType, const OptionFlags& options = {});
    /// IPUs with fewer tiles, `tilesPerIPU` each.
    static Target createIPUTarget(unsigned numIPUs, unsigned tilesPerIPU, StringRef systemType,
                                  const OptionFlags& options = {});

    TargetType getTargetType() const { return type_; }
    unsigned getNumIPUs() const { return ipus_; }
    unsigned getTilesPerIPU() const { return tiles_per_ipu_; }
    unsigned getNumTiles() const { return ipus_ * tiles_per_ipu_; }

    friend bool operator==(const Target&, const Target&) = default;

private:
    friend struct IPUModel;
    friend class DeviceManager;
    friend class Graph;
    Target(TargetType type, unsigned ipus, unsigned tiles) : type_(type), ipus_(ipus), tiles_per_ipu_(tiles) {}

    TargetType type_;
    unsigned ipus_;
    unsigned tiles_per_ipu_;
};

}  // namespace poplar
