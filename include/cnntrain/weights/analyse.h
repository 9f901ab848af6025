// Inspection of checkpoints, also of other programs' files (foreign.h): variables, NaNs, one element of a variable.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/weights/foreign.h"
#include "cnntrain/weights/weights_file.h"

namespace cnntrain::weights {

struct VariableNans {
    std::string variable;
    std::vector<std::int64_t> indices;  // row-major, ascending
};

// The first two read the whole file. A wrong checksum is Error(data), unless edits are trusted.

/// Every variable with a NaN, in the order of names.
std::vector<VariableNans> find_nans(const FileSystem& files, const std::string& path, Edited edited = Edited::refused);

/// One element of a variable. Error(usage) with the nearest name, or the number of elements.
double element(const FileSystem& files, const std::string& path, const std::string& variable, std::int64_t index,
               Edited edited = Edited::refused);

struct CheckpointContent {
    std::string format;  // "safetensors", "PyTorch"
    std::map<std::string, TensorDesc> variables;
    // Members for other programs' files; see ForeignFile.
    std::string part;
    std::vector<std::string> other_parts;
    std::vector<LeftOut> left_out;
};

/// Reads no tensors.
CheckpointContent content(const FileSystem& files, const std::string& path, Edited edited = Edited::refused);

}  // namespace cnntrain::weights
