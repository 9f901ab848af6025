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

struct HostOp {
    std::string name;
    std::vector<poplar::Tensor> reads = {};
    /// Read too, but only in part: the rest may never have been written. Operands are numbered after `reads`.
    std::vector<poplar::Tensor> partial_reads = {};
    std::vector<poplar::Tensor> writes = {};
    /// Draws random numbers other than for rounding: the state of every tile that is written to advances.
    bool draws = false;
    /// Computes one replica. Called from several threads for different replicas.
    std::function<void(OpRun&)> run = {};
    /// In its place, for operations between replicas: computes all replicas.
    std::function<void(std::span<OpRun>)> run_together = {};
};

/// Throws graph_connection_error for writes to constants or aliases.
void add_op(poplar::program::Sequence& prog, HostOp op);
poplar::Program make_op(HostOp op);

}  // namespace ipu_emulator
