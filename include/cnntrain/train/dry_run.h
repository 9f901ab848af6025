// What a command line would do, without doing it.
#pragma once

#include <string>

#include "cnntrain/config/parse.h"
#include "cnntrain/train/task.h"

namespace cnntrain::train {

/// The resolved run, a line per topic: model, data, batches, length, schedule, precision, files. Neither data nor
/// checkpoint need to exist: images are counted in the data's files when their folder is there, else the published
/// set's are taken.
/// Error(usage) for what the run itself would refuse before it opens data, Error(data) for a folder without the data.
std::string dry_run_text(const TaskRow& row, const config::ParseResult& arguments);

}  // namespace cnntrain::train
