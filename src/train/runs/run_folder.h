// Where a run writes: the name of its folder, and the right to write there. One folder holds one run.
#pragma once

#include <memory>
#include <string>

#include "cnntrain/base/io.h"
#include "cnntrain/config/settings.h"
#include "cnntrain/train/task.h"

namespace cnntrain::train {

struct RunFolder {
    std::string name;                     // "RN20_bs32_BN_16.16_3S9"
    std::string logs;                     // empty with --no-logs
    std::string checkpoints;              // the same folder, or one under /tmp
    std::shared_ptr<FileLock> lock = {};  // while a copy of it lives, no other process writes there; null: not held
};

/// For a new run of the task, under a name that nothing in the log folder has yet. Makes no folder.
RunFolder new_run_folder(const Task& task, const LoggingSettings& logging, const FileSystem& files);

/// Of a run that is resumed.
RunFolder resumed_run_folder(const LoggingSettings& logging, const std::string& folder);

/// For a new training, held and without the results of another one: --overwrite removes those. Error(usage) when there
/// are any, saying which, or when another process writes there.
RunFolder begin_run_folder(const Task& task, const LoggingSettings& logging, const std::string& command_line,
                           FileSystem& files);

/// For `validation` and `inference`, held: they add to what is there. A training's folder takes results of its own
/// checkpoints only, which `restore_path` tells; Error(usage) otherwise.
RunFolder results_folder(const Task& task, const config::Settings& settings, const std::string& command_line,
                         FileSystem& files);

}  // namespace cnntrain::train
