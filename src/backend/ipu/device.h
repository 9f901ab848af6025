// The device that executes programs: the only part of the backend that depends on whether a Poplar SDK or the emulator
// is linked. device_sdk.cpp and device_emulated.cpp both define it; the build takes one of them.
#pragma once

#include <optional>
#include <string>

#include <poplar/Device.hpp>

namespace cnntrain::ipu {

/// Names the library that executes programs, for logs: "an emulator of IPUs", "Poplar SDK 3.2.0".
std::string executed_by();

bool is_emulated();

/// Attaches a device with `ipus` IPUs that nobody else uses. `tiles_per_ipu`: the size of emulated IPUs; empty: the
/// size of real ones. Real devices ignore it. Error(unsupported) if there is no such device, or all are in use.
poplar::Device attach_device(unsigned ipus, std::optional<unsigned> tiles_per_ipu);

}  // namespace cnntrain::ipu
