// Partners of samples in a micro-batch (mixup, cutmix). Mixing on the host, mixing ops and ops that read labels must
// agree on them.
#pragma once

#include <concepts>
#include <cstdint>

namespace cnntrain {

/// The sample `distance` >= 0 before `sample`, cyclically among `samples`.
template <std::integral Index> constexpr Index mixing_partner(Index sample, std::int64_t distance, Index samples) {
    return (sample + samples - static_cast<Index>(distance) % samples) % samples;
}

}  // namespace cnntrain
