// The tree that a program is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <poplar/Program.hpp>

#include "ipu_emulator/model/op_run.h"

namespace ipu_emulator {

struct GraphData;

struct ProgramNode {
    enum class Kind {
        sequence,
        repeat,       // parts: body
        while_true,   // parts: condition, body; tensors: predicate
        branch,       // parts: true, false; tensors: predicate
        call,         // index: function
        copy,         // tensors: source, destination
        from_stream,  // index: stream; tensors: destination
        to_stream,    // index: stream; tensors: source
        from_buffer,  // index: remote buffer; tensors: destination
        to_buffer,    // index: remote buffer; tensors: source
        op,
    };

    Kind kind = Kind::sequence;
    std::string name;
    std::vector<poplar::Program> parts = {};
    unsigned count = 0;
    std::size_t index = 0;
    const GraphData* graph = nullptr;  // of a call
    std::vector<poplar::Tensor> tensors = {};
    HostOp op = {};
    bool part_of_other = false;
};

/// Marks the program as a part of another one: it is complete from then on.
poplar::Program used(const poplar::Program& program);

}  // namespace ipu_emulator
