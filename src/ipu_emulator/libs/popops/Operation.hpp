#pragma once

namespace popops {

/// Combination of elements.
enum class Operation { ADD, MAX, SQUARE_ADD };

}  // namespace popops
