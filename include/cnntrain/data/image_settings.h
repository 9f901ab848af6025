// Normalisation and mixing of images, on the host or on the device. Both the data pipeline and the networks use them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace cnntrain::data {

/// y = x * scale + shift per channel (R, G, B), with x in 0..255.
struct Normalisation {
    std::array<float, 3> scale;
    std::array<float, 3> shift;
    bool operator==(const Normalisation&) const = default;
};

/// How samples of a training micro-batch are mixed (mixing.h).
struct MixingSettings {
    double mixup_alpha = 0;           // parameter of Beta(alpha, alpha); 0: no mixup
    double cutmix_lambda = 1;         // share of an image that stays, 0..1; 1: no cutmix
    std::int64_t cutmix_version = 1;  // 1: the share is random around lambda; 2: it equals lambda
    bool on_host = false;             // the host mixes images; otherwise the device does

    bool mixup() const { return mixup_alpha > 0; }
    bool cutmix() const { return cutmix_lambda < 1; }
    bool any() const { return mixup() || cutmix(); }
};

/// Distance of the cutmix partner: 2, or 1 in a micro-batch of two samples.
constexpr std::int64_t cutmix_distance(std::int64_t micro_batch) {
    return micro_batch > 2 ? 2 : 1;
}

/// Distances of the partners whose labels form a sample's target; 0 is the sample itself. With k = cutmix_distance():
/// mixup {0, 1}, cutmix {0, k}, both {0, 1, k, k + 1}.
inline std::vector<std::int64_t> target_distances(const MixingSettings& settings, std::int64_t micro_batch) {
    std::vector<std::int64_t> distances = {0};
    if (settings.mixup()) distances.push_back(1);
    if (settings.cutmix()) {
        const std::int64_t k = cutmix_distance(micro_batch);
        for (std::size_t i = 0, count = distances.size(); i < count; ++i)
            distances.push_back(distances[i] + k);
    }
    return distances;
}

}  // namespace cnntrain::data
