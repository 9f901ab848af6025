// Options that stand beside a checkpoint, in the files of the run or of the program that wrote it.
#pragma once

#include <string>

#include "cnntrain/base/io.h"
#include "cnntrain/config/task_options.h"

namespace cnntrain::tasks {

/// The model and the texts of the run whose checkpoint is evaluated, from its arguments.json.
void take_recorded_run(config::Resolution& run, const FileSystem& files);
/// The model of the checkpoint that a training begins with: from the arguments.json of a run, or from the config.json
/// of Hugging Face's transformers. A vocab.txt beside it is the vocabulary.
void take_recorded_model(config::Resolution& run, const FileSystem& files);

}  // namespace cnntrain::tasks
