#pragma once

#include <cstddef>
#include <string>

#include <poplar/ReplicatedStreamMode.hpp>
#include <poplar/Type.hpp>

namespace poplar {

class Graph;
class Program;

/// A stream between host and device, made by Graph::addHostToDeviceFIFO() or addDeviceToHostFIFO().
class DataStream {
public:
    std::string handle() const { return handle_; }
    std::size_t numElements() const { return elements_; }
    unsigned replicationFactor() const { return replicas_; }
    ReplicatedStreamMode replicatedMode() const { return mode_; }
    const Type& elementType() const { return type_; }

    /// Its number in the graph, for the emulator's own use.
    std::size_t index() const { return index_; }

private:
    friend class Graph;
    DataStream(std::size_t index, std::string handle, Type type, std::size_t elements, unsigned replicas,
               ReplicatedStreamMode mode)
        : index_(index),
          handle_(std::move(handle)),
          type_(type),
          elements_(elements),
          replicas_(replicas),
          mode_(mode) {}

    std::size_t index_;
    std::string handle_;
    Type type_;
    std::size_t elements_;
    unsigned replicas_;
    ReplicatedStreamMode mode_;
};

/// Memory of the host that programs read and write: `getRepeats()` rows of `numElements()` elements.
class RemoteBuffer {
public:
    std::string handle() const { return handle_; }
    std::size_t numElements() const { return elements_; }
    std::size_t getRepeats() const { return repeats_; }
    const Type& elementType() const { return type_; }

    /// Its number in the graph, for the emulator's own use.
    std::size_t index() const { return index_; }

private:
    friend class Graph;
    RemoteBuffer(std::size_t index, std::string handle, Type type, std::size_t elements, std::size_t repeats)
        : index_(index), handle_(std::move(handle)), type_(type), elements_(elements), repeats_(repeats) {}

    std::size_t index_;
    std::string handle_;
    Type type_;
    std::size_t elements_;
    std::size_t repeats_;
};

}  // namespace poplar
