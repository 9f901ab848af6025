#pragma once

#include <initializer_list>
#include <memory>

#include <poplar/ArrayRef.hpp>
#include <poplar/DataStream.hpp>
#include <poplar/DebugContext.hpp>
#include <poplar/Graph.hpp>
#include <poplar/GraphElements.hpp>
#include <poplar/Tensor.hpp>

namespace ipu_emulator {
struct Access;
struct ProgramNode;
}  // namespace ipu_emulator

namespace poplar {

/// A program, or a part of one. Copies share it.
class Program {
public:
    Program() = default;
    bool isEmpty() const;

protected:
    friend struct ipu_emulator::Access;
    std::shared_ptr<ipu_emulator::ProgramNode> node_;
};

namespace program {

using poplar::Program;

/// Programs in order. A copy of a sequence is a sequence of its own. A sequence that is part of another program takes
/// no further parts (control_program_error): whether the other program would have them is not specified.
class Sequence : public Program {
public:
    Sequence(std::initializer_list<Program> programs, const DebugContext& debugContext = {});
    Sequence() : Sequence({}, {}) {}
    explicit Sequence(const DebugContext& debugContext) : Sequence({}, debugContext) {}
    Sequence(const Sequence& other);
    Sequence(Sequence&& other) noexcept = default;
    Sequence& operator=(const Sequence& other);
    Sequence& operator=(Sequence&& other) noexcept = default;

    void add(const Program& p);
};

class Repeat : public Program {
public:
    Repeat(unsigned count, const Program& prog, const DebugContext& debugContext = {});
};

/// Runs cond, then prog as long as the scalar predicate (BOOL, INT or UNSIGNED_INT) is not 0, cond before each test.
class RepeatWhileTrue : public Program {
public:
    RepeatWhileTrue(const Program& cond, const Tensor& predicate, const Program& body,
                    const DebugContext& debugContext = {});
};

class If : public Program {
public:
    If(const Tensor& predicate, const Program& trueBody, const Program& falseBody,
       const DebugContext& debugContext = {});
};

class Call : public Program {
public:
    Call(Function f, const DebugContext& debugContext = {});
};

/// Types and numbers of elements agree, between tensors shapes too: type_error, control_program_error. A source is read
/// whole before its destination is written.
class Copy : public Program {
public:
    Copy(const Tensor& src, const Tensor& dst, bool dontOutline = false, const DebugContext& debugContext = {});
    Copy(const DataStream& stream, const Tensor& dst, bool optimiseMemory = false,
         const DebugContext& debugContext = {});
    Copy(const Tensor& src, const DataStream& stream, bool optimiseMemory = false,
         const DebugContext& debugContext = {});
    /// Of a remote buffer, the first row.
    Copy(const RemoteBuffer& buffer, const Tensor& dst, const DebugContext& debugContext = {});
    Copy(const Tensor& src, const RemoteBuffer& buffer, const DebugContext& debugContext = {});
};

}  // namespace program
}  // namespace poplar
