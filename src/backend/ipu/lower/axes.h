// Views in the orders of axes that PopLibs wants.
#pragma once

#include <poplar/Tensor.hpp>

namespace cnntrain::ipu {

/// [N,H,W,C] as [N,C,H,W].
inline poplar::Tensor channels_second(const poplar::Tensor& image) {
    return image.dimShuffle({0, 3, 1, 2});
}

/// [N,C,H,W] as [N,H,W,C].
inline poplar::Tensor channels_last(const poplar::Tensor& image) {
    return image.dimShuffle({0, 2, 3, 1});
}

/// [...,C] as a matrix of rows.
inline poplar::Tensor rows(const poplar::Tensor& x) {
    return x.flatten(0, static_cast<unsigned>(x.rank()) - 1);
}

}  // namespace cnntrain::ipu
