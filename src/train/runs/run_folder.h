// The output folder of a run: its name, and the lock for writing there. A folder holds one run.
#pragma once

#include <memory>
#include <string>

#include "cnntrain/base/io.h"
#include "cnntrain/config/parse.h"
#include "cnntrain/config/settings.h"
#include "cnntrain/train/task.h"

namespace cnntrain::train {

struct RunFolder {
    std::string name;                     // "RN20_bs32_BN_16.16_3S9"
    std::string logs;                     // empty with --no-logs
    std::string checkpoints;              // `logs`, or a folder under /tmp
    std::shared_ptr<FileLock> lock = {};  // while held, no other process may write there; null: not held
    bool is_new = false;                  // this run has created the folder
};

/// Removes the folder of a new run that ends before it trains, if the run has created it: a refused run leaves no
/// folder.
class UnusedFolder {
public:
    UnusedFolder(const RunFolder& folder, FileSystem& files) : folder_(folder), files_(files) {}
    ~UnusedFolder();
    UnusedFolder(const UnusedFolder&) = delete;
    UnusedFolder& operator=(const UnusedFolder&) = delete;

    void keep() { folder_.is_new = false; }

private:
    RunFolder folder_;  // with the lock, which is released last
    FileSystem& files_;
};

/// The folder of a new run, with a name that is unused in the log folder. Does not create the folder.
RunFolder new_run_folder(const Task& task, const LoggingSettings& logging, const FileSystem& files);

/// The folder of a resumed run.
RunFolder resumed_run_folder(const LoggingSettings& logging, const std::string& folder);

/// For a new training run: locked, and without results of another run, which --overwrite removes. A run with the same
/// options that was killed without a checkpoint is replaced. Throws Error(usage) if there are other results, naming
/// them, or if another process writes there.
RunFolder begin_run_folder(const Task& task, const config::ParseResult& arguments, const std::string& command_line,
                           FileSystem& files);

/// The errors of begin_run_folder() about results of another run; writes and locks nothing.
void check_new_run_folder(const Task& task, const config::ParseResult& arguments, const FileSystem& files);

/// The folder of results_folder() with its errors; writes and locks nothing.
RunFolder checked_results_folder(const Task& task, const config::ParseResult& arguments, const FileSystem& files);

/// For `validation` and `inference`, locked: they add to existing results. Without files unless the user gave
/// --logs-path or --log-dir. A folder of a training run accepts results of its own checkpoints only (as `restore_path`
/// shows); otherwise throws Error(usage).
RunFolder results_folder(const Task& task, const config::ParseResult& arguments, const std::string& command_line,
                         FileSystem& files);

}  // namespace cnntrain::train
