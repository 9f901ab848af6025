#pragma once

#include <cstddef>

namespace ipu_emulator {
struct Access;
struct GraphData;
}  // namespace ipu_emulator

namespace poplar {

/// A program of a graph that is compiled once and run by program::Call.
class Function {
    friend class Graph;
    friend struct ipu_emulator::Access;
    Function(std::size_t index, const ipu_emulator::GraphData* graph) : index_(index), graph_(graph) {}

    std::size_t index_;
    const ipu_emulator::GraphData* graph_;
};

}  // namespace poplar
