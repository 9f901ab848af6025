// Files in a run folder: which files belong to a run, recorded options, and removal of obsolete rows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/options/settings.h"
#include "cnntrain/run/task.h"

namespace cnntrain::run {

inline constexpr const char* kArgumentsFile = "arguments.json";

/// File names of checkpoints, kept updates, averages and tables left by a run. A new run must not be mixed with them.
std::vector<std::string> results_in(const FileSystem& files, const std::string& folder);

/// True if a run has begun there that left no checkpoint and no table row. It was killed before its first checkpoint,
/// so nothing is lost if it starts again.
bool holds_begun_run(const FileSystem& files, const std::string& folder);

/// Key of arguments.json: the planned number of weight updates.
inline constexpr const char* kPlannedUpdatesKey = "planned_iterations";

/// True if a training has left rows but no checkpoint, and its last row lies before its planned end. It was killed, and
/// nothing of it can be continued. False for a finished run.
bool holds_killed_run(const FileSystem& files, const std::string& folder);

/// True if arguments.json records these options (arguments_json() of a command line). A drawn seed is not compared if
/// this line draws one, too.
bool records_options(const FileSystem& files, const std::string& folder, const std::string& options, bool draws_seed);

/// Error(usage) if the path is that of a table that a run keeps in its folder, next to its arguments.json.
void refuse_run_table(const FileSystem& files, const std::string& option, const std::string& path);

/// Removes the table headers of a run that left no rows.
void remove_tables(FileSystem& files, const std::string& folder);

/// True if a training run writes to the folder or has written to it; false for validations and inferences only.
bool holds_training(const FileSystem& files, const std::string& folder);

/// Removes every file that the run itself named; averages and other files that the user named are kept. If the folder
/// has results but no arguments.json of a run, throws Error(usage) and removes nothing.
void remove_run(FileSystem& files, const std::string& folder);

/// Writes arguments.json. An existing one with other options is kept as arguments.<n>.json, n counting from 1.
/// `options` is the user-controlled part of `json`; if it is unchanged in a resumed run (`resumed`), the file stays as
/// it is.
void record_arguments(FileSystem& files, const std::string& folder, const std::string& text, const std::string& options,
                      bool resumed);

/// Writes unused_files.csv, or removes it if `table` is empty; nothing without a folder.
void record_unused_files(FileSystem& files, const std::string& folder, const std::string& table);

/// Writes arguments.json of runs without training, or arguments_restore.json if arguments.json exists.
void add_arguments(FileSystem& files, const std::string& folder, const std::string& text);

/// Removes rows after `iteration` and an incomplete last row from the tables of training and validations, left by a
/// killed run, because the resumed run writes them again.
void drop_rows_after(FileSystem& files, const std::string& folder, std::int64_t iteration);

/// Removes the rows of validations at this iteration, which are done again.
void drop_validations_at(FileSystem& files, const std::string& folder, std::int64_t iteration);

/// Removes the row of a checkpoint or average that will be recomputed.
void drop_validation(FileSystem& files, const std::string& folder, const std::string& name);

/// Removes an incomplete last row, left by a killed process.
void drop_half_rows(FileSystem& files, const std::string& folder);

/// Removes the averages of --weight-avg-N and --weight-avg-exp and their validation rows, because a resumed run will
/// have other last checkpoints.
void drop_averages(FileSystem& files, const std::string& folder);

// The output folder of a run: its name, and the lock for writing there. A folder holds one run.

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

/// The folder of a new training run: locked, and without results of another run, which --overwrite removes. A run with
/// the same options that was killed without a checkpoint is replaced. Throws Error(usage) if there are other results,
/// naming them, or if another process writes there.
RunFolder begin_run_folder(const Task& task, const options::ParseResult& arguments, const std::string& command_line,
                           FileSystem& files);

/// The errors of begin_run_folder() about results of another run; writes and locks nothing.
void check_new_run_folder(const Task& task, const options::ParseResult& arguments, const FileSystem& files);

/// The folder of results_folder() with its errors; writes and locks nothing.
RunFolder checked_results_folder(const Task& task, const options::ParseResult& arguments, const FileSystem& files);

/// The folder of `validation` and `inference`, locked: they add to existing results. It has no files unless the user
/// gave --logs-path or --log-dir. A folder of a training run accepts results of its own checkpoints only (as
/// `restore_path` shows); otherwise throws Error(usage).
RunFolder results_folder(const Task& task, const options::ParseResult& arguments, const std::string& command_line,
                         FileSystem& files);

}  // namespace cnntrain::run
