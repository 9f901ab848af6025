#pragma once

namespace popops {

/// Combination of elements. LOG_ADD: log(exp(a) + exp(b)).
enum class Operation { ADD, MUL, MIN, MAX, LOGICAL_AND, LOGICAL_OR, SQUARE_ADD, LOG_ADD };

}  // namespace popops
