// Options that stand beside a checkpoint, in the files of the run or of the program that wrote it.
#pragma once

#include <string>

#include "cnntrain/base/io.h"
#include "cnntrain/config/task_options.h"
#include "tasks/bert/options.h"

namespace cnntrain::tasks {

/// The file of this name beside a checkpoint, or in the folder itself when `checkpoint` is one; "" when there is none.
std::string file_beside(const FileSystem& files, const std::string& checkpoint, const char* name);

/// What an arguments.json says about these options; empty for the path "".
Layer recorded_options(const FileSystem& files, const std::string& path, const OptionSet& options);

/// Takes the values of options that are `wanted` and that the user does not give.
void take(Resolution& run, const Layer& layer, Source source, bool (*wanted)(const Option&));

/// An option of the network.
bool is_of_model(const Option& option);

}  // namespace cnntrain::tasks
