// The weights in a file of any program whose format is read here.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/weights/checkpoint.h"

namespace cnntrain::weights {

struct WeightsHeader {
    std::map<std::string, TensorDesc> tensors;
    std::map<std::string, std::string> metadata;  // of checkpoints of this program
};

/// Names and shapes, without the tensors themselves. Error(data) as load().
WeightsHeader weights_header(const FileSystem& files, const std::string& path);

/// The tensors by the names that they have in the file. Names of classes in timm's config.json beside it become those
/// of the checkpoint (set_class_names()). Errors as load().
Checkpoint load_weights(const FileSystem& files, const std::string& path, Edited edited = Edited::refused);

// Names of the classes by number, as a checkpoint carries them: metadata "classes", a JSON list of texts.

inline constexpr const char* kClassesKey = "classes";

/// Writes nothing when there are no names.
void set_class_names(std::map<std::string, std::string>& metadata, const std::vector<std::string>& names);
/// Names in the metadata; empty if there are none. Error(data) if they are no list of texts.
std::vector<std::string> class_names(const std::map<std::string, std::string>& metadata);

/// Names in the checkpoint, or in the latest one in the folder, that a restore path names (find_checkpoints() of
/// folder.h). Reads the header only.
std::vector<std::string> class_names_of(const FileSystem& files, const std::string& restore_path);

}  // namespace cnntrain::weights
