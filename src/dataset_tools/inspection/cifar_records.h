// Reads the records of a CIFAR file in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "cnntrain/base/io.h"
#include "data/records/cifar_layout.h"

namespace cnntrain::dataset_tools {

/// Visits the first `count` records; reads the file in large pieces.
void for_each_cifar_record(const InputFile& file, const data::CifarLayout& layout, std::int64_t count,
                           const std::function<void(std::int64_t number, std::span<const std::byte> record)>& visit);

}  // namespace cnntrain::dataset_tools
