#pragma once

namespace poplar {

/// Order of a clone's elements in memory. The emulator keeps the order of views over one variable and orders all others
/// like their elements.
enum class TensorCloneMethod {
    PRESERVE_ORDER_AND_ALIASES,
    PRESERVE_ORDER_UNLESS_ALIASES,
    CREATE_NEW_ORDER,
    GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES,
};

}  // namespace poplar
