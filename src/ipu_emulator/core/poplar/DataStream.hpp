#pragma once

#include <cstddef>
#include <string>

#include <poplar/ReplicatedStreamMode.hpp>
#include <poplar/Type.hpp>

namespace ipu_emulator {
struct Access;
struct GraphData;
}  // namespace ipu_emulator

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

private:
    friend class Graph;
    friend struct ipu_emulator::Access;
    DataStream(const ipu_emulator::GraphData* graph, std::size_t index, std::string handle, Type type,
               std::size_t elements, unsigned replicas, ReplicatedStreamMode mode)
        : graph_(graph),
          index_(index),
          handle_(std::move(handle)),
          type_(type),
          elements_(elements),
          replicas_(replicas),
          mode_(mode) {}

    const ipu_emulator::GraphData* graph_;
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

private:
    friend class Graph;
    friend struct ipu_emulator::Access;
    RemoteBuffer(const ipu_emulator::GraphData* graph, std::size_t index, std::string handle, Type type,
                 std::size_t elements, std::size_t repeats)
        : graph_(graph),
          index_(index),
          handle_(std::move(handle)),
          type_(type),
          elements_(elements),
          repeats_(repeats) {}

    const ipu_emulator::GraphData* graph_;
    std::size_t index_;
    std::string handle_;
    Type type_;
    std::size_t elements_;
    std::size_t repeats_;
};

}  // namespace poplar
