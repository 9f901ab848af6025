// Who is mixed with whom in a micro-batch (mixup, cutmix): the host that mixes, the ops that mix, and the ops that read
// the labels must agree.
#pragma once

#include <concepts>
#include <cstdint>

namespace cnntrain {

/// The sample `distance` >= 0 before `sample`, cyclically among `samples`.
template <std::integral Index> constexpr Index mixing_partner(Index sample, std::int64_t distance, Index samples) {
    return (sample + samples - static_cast<Index>(distance) % samples) % samples;
}

}  // namespace cnntrain
