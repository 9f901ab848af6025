#include "data/records/features.h"

#include <array>
#include <cmath>

#include "data/records/example_walk.h"

namespace cnntrain::data {
namespace {

using Bytes = std::span<const std::byte>;

bool summarise(Bytes feature, FeatureSummary& summary) {
    const std::optional<FeatureType> type = list_type(feature);
    if (!type) return false;
    summary.type = *type;
    switch (*type) {
        case FeatureType::none:
            return true;
        case FeatureType::bytes:
            return for_each_bytes(feature, [&](Bytes value) {
                if (summary.length++ == 0) summary.first_bytes = value;
                summary.value_bytes.add(static_cast<std::int64_t>(value.size()));
            });
        case FeatureType::floats:
            return for_each_float(feature, [&](float value) {
                ++summary.length;
                if (std::isfinite(value)) summary.floats.add(static_cast<double>(value));
            });
        case FeatureType::integers:
            return for_each_integer(feature, [&](std::int64_t value) {
                if (summary.length++ == 0) summary.first_integer = value;
                summary.integers.add(value);
            });
    }
    return true;
}

}  // namespace

std::string_view name(FeatureType type) {
    constexpr std::array<std::string_view, 4> kNames = {"none", "bytes", "float", "int64"};
    return kNames[static_cast<std::size_t>(type)];
}

bool visit_features(Bytes record, const std::function<void(std::string_view, const FeatureSummary&)>& visit) {
    return for_each_feature(record, [&](const FeatureEntry& entry) {
        FeatureSummary summary;
        if (!summarise(entry.feature, summary)) return false;
        visit(entry.key, summary);
        return true;
    });
}

}  // namespace cnntrain::data
