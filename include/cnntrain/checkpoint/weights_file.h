// The weights in a file of any program whose format is read here.
#pragma once

#include <map>
#include <string>

#include "cnntrain/base/io.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/checkpoint/checkpoint.h"
#include "cnntrain/checkpoint/edited.h"

namespace cnntrain::checkpoint {

struct WeightsHeader {
    std::map<std::string, TensorDesc> tensors;
    std::map<std::string, std::string> metadata;  // of checkpoints of this program
};

/// Names and shapes, without the tensors themselves. Error(data) as load().
WeightsHeader weights_header(const FileSystem& files, const std::string& path);

/// The tensors by the names that they have in the file. Names of classes in timm's config.json beside it become those
/// of the checkpoint (class_names.h). Errors as load().
Checkpoint load_weights(const FileSystem& files, const std::string& path, Edited edited = Edited::refused);

}  // namespace cnntrain::checkpoint
