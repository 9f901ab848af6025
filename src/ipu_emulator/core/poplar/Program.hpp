#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

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

/// Runs the case whose number the scalar INT or UNSIGNED_INT has, else the default.
class Switch : public Program {
public:
    Switch(const Tensor& control, const DebugContext& debugContext = {});
    Switch(const Tensor& control, const Program& defaultCaseBody, const DebugContext& debugContext = {});
    Switch(const Tensor& control, const std::vector<std::pair<std::int32_t, Program>>& cases,
           const DebugContext& debugContext = {});
    Switch(const Tensor& control, const std::vector<std::pair<std::int32_t, Program>>& cases,
           const Program& defaultCaseBody, const DebugContext& debugContext = {});

    Switch& add(std::int32_t value, const Program& body);
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
    Copy(const RemoteBuffer& buffer, const Tensor& dst, const DebugContext& debugContext = {});
    /// `offset`: UNSIGNED_INT numbers of rows; dst has as many rows.
    Copy(const RemoteBuffer& buffer, const Tensor& dst, const Tensor& offset, const DebugContext& debugContext = {});
    Copy(const Tensor& src, const RemoteBuffer& buffer, const DebugContext& debugContext = {});
    Copy(const Tensor& src, const RemoteBuffer& buffer, const Tensor& offset, const DebugContext& debugContext = {});
};

/// The tensor's elements have no value from here on.
class WriteUndef : public Program {
public:
    WriteUndef(const Tensor& t, const DebugContext& debugContext = {});
};

}  // namespace program
}  // namespace poplar
