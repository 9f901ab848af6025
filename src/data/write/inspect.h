// Lists all features of a tf.Example, whatever their keys, to inspect unknown records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "cnntrain/base/io.h"
#include "cnntrain/data/inspect.h"
#include "data/sets/cifar.h"

namespace cnntrain::data {

/// The list of one key in one record.
struct FeatureSummary : FeatureReport {
    std::int64_t length = 0;                 // number of values
    std::int64_t first_integer = 0;          // valid if there are integers
    std::span<const std::byte> first_bytes;  // a view of the record
};

/// Calls `visit` for each feature in record order. Returns false if the bytes are not a tf.Example; then the features
/// visited before the fault are meaningless.
bool visit_features(std::span<const std::byte> record,
                    const std::function<void(std::string_view key, const FeatureSummary& feature)>& visit);

// Reads the records of a CIFAR file in order.

/// Visits the first `count` records; reads the file in large pieces.
void for_each_cifar_record(const InputFile& file, const CifarLayout& layout, std::int64_t count,
                           const std::function<void(std::int64_t number, std::span<const std::byte> record)>& visit);

}  // namespace cnntrain::data
