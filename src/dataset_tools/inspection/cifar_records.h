// The records of a CIFAR file, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "cnntrain/base/io.h"
#include "data/records/cifar_layout.h"

namespace cnntrain::dataset_tools {

/// The first `count` records, read in large pieces.
void for_each_cifar_record(const InputFile& file, const data::CifarLayout& layout, std::int64_t count,
                           const std::function<void(std::int64_t number, std::span<const std::byte> record)>& visit);

}  // namespace cnntrain::dataset_tools
