// An operation of a program: what a library function adds in the place of an IPU's compute sets.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <poplar/Program.hpp>
#include <poplar/Tensor.hpp>

namespace ipu_emulator {

class OpRun;

/// The occasions on which the random state of the tiles that hold results advances.
enum class Draws {
    results,  // if results are half and the tile rounds stochastically
    inside,   // if the tile rounds stochastically, whatever the results: partials or intermediate values are half
    always,   // numbers come from the state
    never,    // numbers come from a seed
};

struct HostOp {
    std::string name;
    std::vector<poplar::Tensor> reads = {};
    /// Read too, but only in part: the rest may never have been written. Operands are numbered after `reads`.
    std::vector<poplar::Tensor> partial_reads = {};
    std::vector<poplar::Tensor> writes = {};
    Draws draws = Draws::results;
    /// run() marks what it has written; else all of `writes` is.
    bool marks_writes = false;
    /// Computes one replica. Called from several threads for different replicas.
    std::function<void(OpRun&)> run = {};
    /// Computes all replicas, in the place of run(), for operations between replicas.
    std::function<void(std::span<OpRun>)> run_together = {};
};

/// An operand that shares memory with a result without being the same view is copied before the operation. Throws
/// graph_connection_error for writes to constants or aliases.
void add_op(poplar::program::Sequence& prog, HostOp op);
poplar::Program make_op(HostOp op);

bool may_overlap(const poplar::Tensor& a, const poplar::Tensor& b);
/// `t`, or a copy of it if it shares memory with `out`.
poplar::Tensor apart_from(const poplar::Tensor& out, const poplar::Tensor& t, poplar::program::Sequence& prog,
                          const std::string& name);

}  // namespace ipu_emulator
