// Describes what a command line would do, without running it.
#pragma once

#include <string>

#include "cnntrain/config/parse.h"
#include "cnntrain/train/task.h"

namespace cnntrain::train {

/// The resolved run, one line per topic: model, data, batches, length, schedule, precision, files. Neither data nor
/// checkpoints need to exist: the number of images comes from the data files if their folder exists, otherwise from the
/// published set.
/// Throws Error(usage) for settings that the run itself would refuse before it opens data, Error(data) for a folder
/// without the data.
std::string dry_run_text(const TaskRow& row, const config::ParseResult& arguments);

}  // namespace cnntrain::train
