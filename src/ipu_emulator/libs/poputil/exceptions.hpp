#pragma once

#include <stdexcept>

namespace poputil {

/// Arguments that a library function cannot compute with.
struct poplibs_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace poputil
