// A device of few tiles and short ways to run a program on it.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <poplar/Program.hpp>
#include <poputil/TileMapping.hpp>

#include "ipu_emulator/model/graph_data.h"
#include "ipu_emulator/model/machine.h"
#include "ipu_emulator/numerics/half.h"
#include "ipu_emulator/numerics/threads.h"

namespace ipu_emulator::test {

using poplar::BOOL;
using poplar::FLOAT;
using poplar::HALF;
using poplar::INT;
using poplar::Tensor;
using poplar::UNSIGNED_INT;
using poplar::program::Copy;
using poplar::program::Sequence;
using Shape = std::vector<std::size_t>;
using Values = std::vector<float>;

inline poplar::Device small_device(unsigned ipus = 1, unsigned tiles = 8) {
    poplar::IPUModel model;
    model.numIPUs = ipus;
    model.tilesPerIPU = tiles;
    return model.createDevice();
}

/// A variable, spread over the tiles of the graph.
inline Tensor linear_variable(poplar::Graph& graph, poplar::Type type, const Shape& shape,
                              const poplar::DebugContext& debug = {}) {
    Tensor t = graph.addVariable(type, shape, debug);
    poputil::mapTensorLinearly(graph, t);
    return t;
}

/// A graph, a program that a test fills, and the values of tensors before and after.
class Bench {
public:
    explicit Bench(unsigned replicas = 1, unsigned ipus_per_replica = 1, unsigned tiles = 8)
        : device(small_device(replicas * ipus_per_replica, tiles)),
          graph(device, poplar::replication_factor(replicas)),
          replicas_(replicas) {}

    Tensor variable(poplar::Type type, const Shape& shape) { return linear_variable(graph, type, shape, "variable"); }
    /// A variable with these values at the start, on all replicas.
    Tensor input(poplar::Type type, const Shape& shape, const Values& values) {
        Tensor t = variable(type, shape);
        graph.setInitialValue(t, poplar::ArrayRef<float>(values));
        return t;
    }
    /// The number of the replica, UNSIGNED_INT.
    Tensor replica_index() {
        Tensor index = graph.addReplicationIndexConstant();
        graph.setTileMapping(index, 0);
        return index;
    }
    /// Asks for a tensor's values after the run.
    void watch(const std::string& name, const Tensor& t) {
        graph.createHostRead(name, t);
        watched_.push_back({name, t});
    }
    poplar::Engine& engine(const poplar::OptionFlags& options = {}) {
        if (!engine_) engine_ = std::make_unique<poplar::Engine>(graph, prog, options);
        return *engine_;
    }
    void run(const poplar::OptionFlags& options = {}) {
        engine(options).load(device);
        engine().run();
    }
    Values values(const std::string& name, unsigned replica = 0) {
        for (const Watched& watched : watched_) {
            if (watched.name != name) continue;
            const std::size_t n = watched.tensor.numElements();
            const std::size_t size = type_size(watched.tensor.elementType());
            std::vector<std::byte> bytes(n * size * replicas_);
            engine().readTensor(name, bytes.data(), bytes.data() + bytes.size());
            const std::byte* own = bytes.data() + replica * n * size;
            Values result(n);
            for (std::size_t i = 0; i < n; ++i)
                result[i] = value(watched.tensor.elementType(), own + i * size);
            return result;
        }
        throw std::logic_error("nobody watches " + name);
    }
    /// The values of a tensor after the program has run once.
    Values result(const Tensor& t, const poplar::OptionFlags& options = {}) {
        watch("result", t);
        run(options);
        return values("result");
    }

    poplar::Device device;
    poplar::Graph graph;
    Sequence prog;

private:
    struct Watched {
        std::string name;
        Tensor tensor;
    };

    static float value(poplar::Type type, const std::byte* at) {
        if (type == HALF) {
            std::uint16_t bits = 0;
            std::memcpy(&bits, at, sizeof bits);
            return half_value(bits);
        }
        if (type == FLOAT) {
            float number = 0;
            std::memcpy(&number, at, sizeof number);
            return number;
        }
        if (type == BOOL) return static_cast<float>(*at);
        std::int32_t number = 0;
        std::memcpy(&number, at, sizeof number);
        return type == INT ? static_cast<float>(number) : static_cast<float>(static_cast<std::uint32_t>(number));
    }

    unsigned replicas_;
    std::unique_ptr<poplar::Engine> engine_;
    std::vector<Watched> watched_;
};

/// A number of host threads while it lives.
struct HostThreads {
    explicit HostThreads(unsigned threads) { set_host_threads(threads); }
    ~HostThreads() { set_host_threads(0); }
};

/// Checks reads, or does not, while it lives; then as the build does.
struct CheckedReads {
    explicit CheckedReads(bool check = true) { check_reads(check); }
    ~CheckedReads() { check_reads(before); }
    bool before = checks_reads();
};

inline Values random_values(std::size_t count, unsigned seed, float low = -1, float high = 1) {
    std::mt19937 generator(seed);
    Values values(count);
    for (float& value : values)
        value = low + (high - low) * static_cast<float>(generator() >> 8) * 0x1p-24f;
    return values;
}

/// The nearest half.
inline float as_half(float value) {
    return half_value(ieee_half(value));
}

inline Values as_halves(Values values) {
    for (float& value : values)
        value = as_half(value);
    return values;
}

}  // namespace ipu_emulator::test
