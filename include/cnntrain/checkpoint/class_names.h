// Names of the classes by number, as a checkpoint carries them: metadata "classes", a JSON list of texts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"

namespace cnntrain::checkpoint {

inline constexpr const char* kClassesKey = "classes";

/// Writes nothing when there are no names.
void set_class_names(std::map<std::string, std::string>& metadata, const std::vector<std::string>& names);
/// None where the metadata has none. Error(data) when they are no list of texts.
std::vector<std::string> class_names(const std::map<std::string, std::string>& metadata);

/// Those of the checkpoint, or of the latest one in the folder, that a restore path names (find_checkpoints() of
/// folder.h). Reads the header only.
std::vector<std::string> class_names_of(const FileSystem& files, const std::string& restore_path);

}  // namespace cnntrain::checkpoint
