// The options of its run that a checkpoint carries, so that it can be evaluated away from the run's folder: metadata
// "options", a JSON object. This module does not read it.
#pragma once

#include <map>
#include <string>

#include "cnntrain/base/io.h"

namespace cnntrain::weights {

inline constexpr const char* kRunOptionsKey = "options";

/// "" where the metadata has none.
std::string run_options(const std::map<std::string, std::string>& metadata);

/// The options in a checkpoint file. Reads the header only.
std::string run_options_of(const FileSystem& files, const std::string& path);

}  // namespace cnntrain::weights
