// Layout of CIFAR's binary files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cnntrain/data/settings.h"

namespace cnntrain::data {

inline constexpr std::int64_t kCifarSide = 32;

struct CifarLayout {
    DatasetId id;
    std::size_t label_bytes;  // labels before each image's pixels; the last one is used
    std::size_t record_bytes;
    std::vector<std::string> training_files;
    std::vector<std::string> validation_files;

    const std::vector<std::string>& files(Split split) const {
        return split == Split::train ? training_files : validation_files;
    }
};

/// The layout of CIFAR-10 or CIFAR-100.
const CifarLayout& cifar_layout(DatasetId id);

}  // namespace cnntrain::data
