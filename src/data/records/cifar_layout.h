// How CIFAR's binary files are laid out.
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
    std::size_t label_bytes;  // in front of each image's pixels; the last of them is the label used
    std::size_t record_bytes;
    std::vector<std::string> training_files;
    std::vector<std::string> validation_files;

    const std::vector<std::string>& files(Split split) const {
        return split == Split::train ? training_files : validation_files;
    }
};

/// Of CIFAR-10 or CIFAR-100.
const CifarLayout& cifar_layout(DatasetId id);

}  // namespace cnntrain::data
