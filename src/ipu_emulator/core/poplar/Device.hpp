#pragma once

#include <poplar/Target.hpp>

namespace poplar {

/// One or several emulated IPUs.
class Device {
public:
    unsigned getId() const { return id_; }
    const Target& getTarget() const { return target_; }
    /// Always true: an emulated device has no other users.
    bool attach() const { return true; }
    void detach() const {}

private:
    friend struct IPUModel;
    friend class DeviceManager;
    Device(Target target, unsigned id) : target_(target), id_(id) {}

    Target target_;
    unsigned id_;
};

}  // namespace poplar
