#pragma once

#include <cstddef>

#include <poplar/OptionFlags.hpp>
#include <poplar/StringRef.hpp>
#include <poplar/TargetType.hpp>
#include <poplar/Type.hpp>

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
    unsigned getTypeSize(const Type& type) const;

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

/// binary32 to binary16, nearest-even, `count` elements; beyond its range the result is infinite.
void copyFloatToDeviceHalf(const Target& target, const float* src, void* dst, std::size_t count);
void copyDeviceHalfToFloat(const Target& target, const void* src, float* dst, std::size_t count);

}  // namespace poplar
