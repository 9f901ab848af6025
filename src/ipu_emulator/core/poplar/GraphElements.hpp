#pragma once

#include <cstddef>

namespace ipu_emulator {
struct GraphData;
}

namespace poplar {

/// A program of a graph that is compiled once and run by program::Call.
class Function {
public:
    /// Its number in a graph, and the graph, for the emulator's own use.
    std::size_t index() const { return index_; }
    const ipu_emulator::GraphData* graph() const { return graph_; }

private:
    friend class Graph;
    explicit Function(std::size_t index, const ipu_emulator::GraphData* graph) : index_(index), graph_(graph) {}

    std::size_t index_;
    const ipu_emulator::GraphData* graph_;
};

}  // namespace poplar
