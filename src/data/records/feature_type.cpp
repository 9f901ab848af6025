#include "cnntrain/data/feature_type.h"

#include <array>
#include <cstddef>

namespace cnntrain::data {

std::string_view name(FeatureType type) {
    constexpr std::array<std::string_view, 4> kNames = {"none", "bytes", "float", "int64"};
    return kNames[static_cast<std::size_t>(type)];
}

}  // namespace cnntrain::data
