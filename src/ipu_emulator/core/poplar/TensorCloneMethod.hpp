#pragma once

namespace poplar {

/// How the elements of a clone are ordered in memory. The emulator keeps the order of views over one variable and
/// orders all others like their elements.
enum class TensorCloneMethod {
    PRESERVE_ORDER_AND_ALIASES,
    PRESERVE_ORDER_UNLESS_ALIASES,
    CREATE_NEW_ORDER,
    GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES,
};

}  // namespace poplar
