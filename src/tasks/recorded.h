// Reads options from files beside a checkpoint, written by a run or by another program.
#pragma once

#include <string>

#include "cnntrain/base/io.h"
#include "cnntrain/config/task_options.h"

namespace cnntrain::tasks {

using namespace config;

/// Path of a file beside a checkpoint, or in the folder if `checkpoint` is one; "" if there is none.
std::string file_beside(const FileSystem& files, const std::string& checkpoint, const char* name);

/// The values of these options in an arguments.json; empty for the path "".
Layer recorded_options(const FileSystem& files, const std::string& path, const OptionSet& options);

/// Takes the values of `wanted` options that the user has not given.
void take(Resolution& run, const Layer& layer, Source source, bool (*wanted)(const Option&));

}  // namespace cnntrain::tasks
