#include "dataset_tools/inspection/features.h"

#include <cmath>

#include "data/records/example_walk.h"

namespace cnntrain::dataset_tools {
namespace {

using Bytes = std::span<const std::byte>;

bool summarise(Bytes feature, FeatureSummary& summary) {
    const std::optional<data::FeatureType> type = data::list_type(feature);
    if (!type) return false;
    summary.type = *type;
    switch (*type) {
        case data::FeatureType::none:
            return true;
        case data::FeatureType::bytes:
            return data::for_each_bytes(feature, [&](Bytes value) {
                if (summary.length++ == 0) summary.first_bytes = value;
                summary.value_bytes.add(static_cast<std::int64_t>(value.size()));
            });
        case data::FeatureType::floats:
            return data::for_each_float(feature, [&](float value) {
                ++summary.length;
                if (std::isfinite(value)) summary.floats.add(static_cast<double>(value));
            });
        case data::FeatureType::integers:
            return data::for_each_integer(feature, [&](std::int64_t value) {
                if (summary.length++ == 0) summary.first_integer = value;
                summary.integers.add(value);
            });
    }
    return true;
}

}  // namespace

bool visit_features(Bytes record, const std::function<void(std::string_view, const FeatureSummary&)>& visit) {
    return data::for_each_feature(record, [&](const data::FeatureEntry& entry) {
        FeatureSummary summary;
        if (!summarise(entry.feature, summary)) return false;
        visit(entry.key, summary);
        return true;
    });
}

}  // namespace cnntrain::dataset_tools
