// Numbers of classes, rows and pixels: as a tensor, and whether there is such a class or row.
#pragma once

#include <cstddef>

#include <popops/Expr.hpp>

#include "backend/ipu/lower/node_context.h"

namespace cnntrain::ipu {

/// The constant INT [1][count]: 0, 1, 2, ...
poplar::Tensor numbers_up_to(const NodeContext& node, std::size_t count);

/// The operand in 32 bits.
inline popops::expr::Cast as_float(const popops::expr::Expr& operand) {
    return {operand, poplar::FLOAT};
}

/// BOOL: whether an INT number, of a class or a row, is in 0..count-1.
popops::expr::Any in_range(const popops::expr::Expr& number, std::size_t count);

}  // namespace cnntrain::ipu
