// CIFAR's binary files as records, for looking at them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "cnntrain/base/io.h"
#include "data/sets/data_files.h"

namespace cnntrain::data {

inline constexpr std::int64_t kCifarSide = 32;

struct CifarLayout {
    std::size_t label_bytes = 1;  // in front of each image's pixels; the last of them is the label used
    std::size_t record_bytes = 0;
};

CifarLayout cifar_layout(FileFormat format);  // not of TFRecord

/// The first `count` records, read in large pieces.
void for_each_cifar_record(const InputFile& file, const CifarLayout& layout, std::int64_t count,
                           const std::function<void(std::int64_t number, std::span<const std::byte> record)>& visit);

}  // namespace cnntrain::data
