// Where a run writes: its name, its folders, arguments.json, and the CSV of a run that is resumed.
#pragma once

#include <cstdint>
#include <string>

#include "cnntrain/base/io.h"
#include "cnntrain/config/settings.h"
#include "train/tasks/task.h"

namespace cnntrain::train {

struct RunFolder {
    std::string name;         // "RN20_bs32_BN_16.16_3S9"
    std::string logs;         // empty with --no-logs
    std::string checkpoints;  // the same folder, or one under /tmp
};

/// For a new run of the task, under a name that nothing in the log folder has yet. Makes no folder.
RunFolder new_run_folder(const Task& task, const LoggingSettings& logging, const FileSystem& files);

/// Of a run that is resumed.
RunFolder resumed_run_folder(const LoggingSettings& logging, const std::string& folder);

/// What a user types to continue a run that was stopped.
std::string how_to_continue(const RunFolder& folder);

/// A new run must not mix its checkpoints with another's. Error(usage) when the folder has some.
void refuse_used_folder(const RunFolder& folder, const FileSystem& files);

/// arguments.json, or arguments_restore.json beside an existing one. Nothing without a log folder.
void write_arguments(const RunFolder& folder, const std::string& json, FileSystem& files);

/// A run that was killed has logged past its last checkpoint: drops those rows of training.csv, so that the resumed run
/// writes them once.
void drop_rows_after(const RunFolder& folder, std::int64_t iteration, FileSystem& files);

}  // namespace cnntrain::train
