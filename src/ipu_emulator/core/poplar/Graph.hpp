#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <poplar/ArrayRef.hpp>
#include <poplar/DataStream.hpp>
#include <poplar/DebugContext.hpp>
#include <poplar/Device.hpp>
#include <poplar/GraphElements.hpp>
#include <poplar/Interval.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/StringRef.hpp>
#include <poplar/Target.hpp>
#include <poplar/Tensor.hpp>
#include <poplar/Type.hpp>
#include <poplar/replication_factor.hpp>

namespace ipu_emulator {
struct Access;
struct GraphData;
}  // namespace ipu_emulator

namespace poplar {

/// Variables, constants, streams and functions of one replica, on a range of tiles. Copies share them.
class Graph {
public:
    using TileToTensorMapping = std::vector<std::vector<Interval>>;

    /// Throws graph_replication_error if the target's IPUs cannot be divided among the replicas.
    Graph(const Target& target, replication_factor replicationFactor = replication_factor(1));
    Graph(const Device& device, replication_factor replicationFactor = replication_factor(1));

    /// One replica's IPUs, of a virtual graph its tiles.
    const Target& getTarget() const { return target_; }
    unsigned getReplicationFactor() const;
    /// The graph of tiles [lowerTile, upperTile) of this one.
    Graph createVirtualGraph(unsigned lowerTile, unsigned upperTile);

    Tensor addVariable(const Type& type, ArrayRef<std::size_t> shape, const DebugContext& debugContext = {});
    template <class T> Tensor addConstant(const Type& type, ArrayRef<std::size_t> shape, ArrayRef<T> values,
                                          const DebugContext& debugContext = {});
    template <class T> Tensor addConstant(const Type& type, ArrayRef<std::size_t> shape, const T* values,
                                          const DebugContext& debugContext = {});
    template <class T>
    Tensor addConstant(const Type& type, ArrayRef<std::size_t> shape, T value, const DebugContext& debugContext = {});
    /// A scalar UNSIGNED_INT: the replica's number.
    Tensor addReplicationIndexConstant(const DebugContext& debugContext = {});
    Tensor clone(const Type& type, const Tensor& t, const DebugContext& debugContext = {});
    Tensor clone(const Tensor& t, const DebugContext& debugContext = {});

    void setTileMapping(const Tensor& t, unsigned tile);
    /// mapping[tile]: intervals of the flattened tensor. Throws invalid_tile_mapping for an element on two tiles.
    void setTileMapping(const Tensor& t, const TileToTensorMapping& mapping);
    /// Throws invalid_tile_mapping for elements on no tile if requireComplete, for tiles of other graphs unless
    /// allowExternal.
    TileToTensorMapping getTileMapping(const Tensor& t, bool requireComplete = true, bool allowExternal = false) const;
    /// The values that the tensor has when a program is loaded.
    template <class T> void setInitialValue(const Tensor& t, ArrayRef<T> values);
    template <class T> void setInitialValue(const Tensor& t, T value);

    void createHostWrite(StringRef handle, const Tensor& t, bool rearrangeOnHost = false);
    void createHostRead(StringRef handle, const Tensor& t, bool rearrangeOnHost = false);
    DataStream addHostToDeviceFIFO(StringRef handle, const Type& elementType, std::size_t numElements,
                                   ReplicatedStreamMode mode = ReplicatedStreamMode::REPLICATE,
                                   const OptionFlags& options = {});
    DataStream addDeviceToHostFIFO(StringRef handle, const Type& elementType, std::size_t numElements,
                                   const OptionFlags& options = {});
    RemoteBuffer addRemoteBuffer(StringRef handle, const Type& elementType, std::size_t numElements,
                                 std::size_t repeats = 1, bool rearrangeOnHost = false, bool optimiseMemory = false);
    Function addFunction(const Program& program);

private:
    friend struct ipu_emulator::Access;
    Graph(std::shared_ptr<ipu_emulator::GraphData> data, std::vector<unsigned> tiles);
    Tensor addConstantBytes(Type type, ArrayRef<std::size_t> shape, Type given, const void* values, std::size_t count,
                            const DebugContext& debugContext);
    void setInitialBytes(const Tensor& t, Type given, const void* values, std::size_t count);

    std::shared_ptr<ipu_emulator::GraphData> data_;
    Target target_;
    std::vector<unsigned> tiles_;  // in the top-level graph
};

template <class T> Tensor Graph::addConstant(const Type& type, ArrayRef<std::size_t> shape, ArrayRef<T> values,
                                             const DebugContext& debugContext) {
    return addConstantBytes(type, shape, equivalent_device_type<T>::value, values.data(), values.size(), debugContext);
}

template <class T> Tensor Graph::addConstant(const Type& type, ArrayRef<std::size_t> shape, const T* values,
                                             const DebugContext& debugContext) {
    std::size_t count = 1;
    for (const std::size_t extent : shape)
        count *= extent;
    return addConstantBytes(type, shape, equivalent_device_type<T>::value, values, count, debugContext);
}

template <class T>
Tensor Graph::addConstant(const Type& type, ArrayRef<std::size_t> shape, T value, const DebugContext& debugContext) {
    return addConstantBytes(type, shape, equivalent_device_type<T>::value, &value, 1, debugContext);
}

template <class T> void Graph::setInitialValue(const Tensor& t, ArrayRef<T> values) {
    setInitialBytes(t, equivalent_device_type<T>::value, values.data(), values.size());
}

template <class T> void Graph::setInitialValue(const Tensor& t, T value) {
    setInitialBytes(t, equivalent_device_type<T>::value, &value, 1);
}

}  // namespace poplar
