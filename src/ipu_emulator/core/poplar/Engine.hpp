#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <poplar/ArrayRef.hpp>
#include <poplar/Device.hpp>
#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poplar/StreamCallback.hpp>
#include <poplar/StringRef.hpp>

namespace ipu_emulator {
class Machine;
}

namespace poplar {

using ProgressFunc = std::function<void(int, int)>;

/// Compiled programs of a graph, and the memory of all replicas. It shares the graph's contents, as they are when it is
/// made. The environment variable POPLAR_ENGINE_OPTIONS, a JSON object of strings, overrides options.
class Engine {
public:
    /// Throws invalid_tile_mapping, invalid_option.
    Engine(const Graph& graph, ArrayRef<Program> programs, const OptionFlags& options = {},
           ProgressFunc progressCallBack = {}, const DebugContext& debugContext = {});
    Engine(const Graph& graph, Program program, const OptionFlags& options = {}, ProgressFunc progressCallBack = {},
           const DebugContext& debugContext = {});
    Engine(Engine&&) noexcept;
    ~Engine();

    /// Gives every variable its initial value. Throws graph_replication_error if the device is not of the graph's size.
    void load(const Device& device);
    /// Runs programs[programIndex]. Throws stream_connection_error, application_runtime_error.
    /// Prefetched data is dropped then too.
    void run(unsigned programIndex = 0, const std::string& debugName = "");

    /// The stream's data is [begin, end), from the start again after its end. Each replica of a replicated stream takes
    /// the next part, in order.
    void connectStream(StringRef handle, void* begin, void* end);
    void connectStream(StringRef handle, void* begin);
    void connectStreamToCallback(StringRef handle, StreamCallbackHandle callback);
    void connectStreamToCallback(StringRef handle, unsigned replica, StreamCallbackHandle callback);

    /// `repeatIndex`: the row. Throws stream_connection_error for unknown handles, index_error for rows.
    void copyFromRemoteBuffer(StringRef handle, void* w, std::uint64_t repeatIndex, unsigned replicationIndex = 0);
    void copyToRemoteBuffer(void* w, StringRef handle, std::uint64_t repeatIndex, unsigned replicationIndex = 0);
    /// [buf, bufEnd) holds the tensor of each replica in turn. Throws tensor_io_state_error for unknown handles or
    /// another size.
    void readTensor(StringRef handle, void* buf, void* bufEnd);
    /// [buf, bufEnd) holds one tensor, which all replicas get, or one for each.
    void writeTensor(StringRef handle, const void* buf, const void* bufEnd);

private:
    std::unique_ptr<ipu_emulator::Machine> machine_;
};

}  // namespace poplar
