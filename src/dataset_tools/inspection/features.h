// Every feature of a tf.Example, whatever its key: for looking at records of unknown making.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include "cnntrain/data/feature_type.h"

namespace cnntrain::dataset_tools {

/// One key's list in one record.
struct FeatureSummary {
    data::FeatureType type = data::FeatureType::none;
    std::int64_t length = 0;  // values
    data::Range<std::int64_t> value_bytes;
    data::Range<std::int64_t> integers;
    data::Range<double> floats;              // finite ones
    std::int64_t first_integer = 0;          // if there are integers
    std::span<const std::byte> first_bytes;  // part of the record
};

/// Calls `visit` for each feature in the order of the record. False when the bytes are no tf.Example: what was visited
/// before the fault means nothing then.
bool visit_features(std::span<const std::byte> record,
                    const std::function<void(std::string_view key, const FeatureSummary& feature)>& visit);

}  // namespace cnntrain::dataset_tools
