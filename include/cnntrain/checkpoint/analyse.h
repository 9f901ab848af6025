// Looking into checkpoints: where numbers stop being numbers, and one element through all of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"

namespace cnntrain::checkpoint {

struct VariableNans {
    std::string variable;
    std::vector<std::int64_t> indices;  // row-major, ascending
};

/// Every variable with a NaN, in the order of names.
std::vector<VariableNans> find_nans(const FileSystem& files, const std::string& path);

/// One element of a variable. Error(usage) with the nearest name, or the number of elements.
double element(const FileSystem& files, const std::string& path, const std::string& variable, std::int64_t index);

}  // namespace cnntrain::checkpoint
