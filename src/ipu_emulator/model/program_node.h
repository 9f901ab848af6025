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
        choice,       // parts: default, cases; tensors: control
        call,         // index: function
        copy,         // tensors: source, destination
        from_stream,  // index: stream; tensors: destination
        to_stream,    // index: stream; tensors: source
        from_buffer,  // index: remote buffer; tensors: destination, offsets if given
        to_buffer,    // index: remote buffer; tensors: source, offsets if given
        undefine,     // tensors: what has no value any longer
        op,
    };

    Kind kind = Kind::sequence;
    std::string name;
    std::vector<poplar::Program> parts = {};
    std::vector<std::int32_t> cases = {};
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
