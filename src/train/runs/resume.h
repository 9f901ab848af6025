// The start of a run: a new run, or one resumed from a checkpoint.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/io.h"
#include "cnntrain/checkpoint/checkpoint.h"
#include "cnntrain/checkpoint/folder.h"
#include "cnntrain/config/parse.h"
#include "cnntrain/train/runs.h"
#include "train/runs/run_folder.h"
#include "train/runs/same_data.h"

namespace cnntrain::train {

// Keys of checkpoint metadata.
inline constexpr const char* kSeedKey = "seed";
inline constexpr const char* kSamplesKey = "samples";
inline constexpr const char* kFingerprintKey = "arguments_fingerprint";
inline constexpr const char* kThreadsKey = "compute_threads";
inline constexpr const char* kMetersKey = "meters";
inline constexpr const char* kArithmeticKey = "arithmetic";
inline constexpr const char* kDataKey = "data";
inline constexpr const char* kValidationsKey = "validations";  // BestResult::state()
inline constexpr const char* kBestKey = "best";                // of the best weights: the result, as text

/// The checkpoint from which a run resumes.
struct ResumePoint {
    checkpoint::Found found;
    checkpoint::Checkpoint checkpoint;
};

struct RunStart {
    config::ParseResult arguments;      // the seed is always set: as given, recorded in the resumed run, or drawn
    std::optional<ResumePoint> resume;  // empty: a new run
    std::shared_ptr<FileLock> lock;     // lock of the resumed run's folder
};

/// The flag that names the folder of the run to resume.
std::string restore_flag(const config::ParseResult& arguments);
/// The flag that names the checkpoint with the initial weights.
std::string init_flag(const config::ParseResult& arguments);

/// Tells the user how to continue a stopped run with these arguments.
std::string how_to_continue(const RunFolder& folder, const config::ParseResult& arguments);

/// With --restore-path, starts at the latest checkpoint in that folder. Throws Error(not_found) if there is none,
/// Error(usage) if another process writes to the folder.
RunStart run_start(const config::ParseResult& arguments, const Host& host);

/// Starts the run recorded in the folder that `restore_line` names. Locks the folder before it reads the recorded
/// options, so that no other process can change them.
RunStart restored_run_start(const TaskRow& task, const config::ParseResult& restore_line, const Host& host);

std::uint64_t seed_of(const RunStart& start);

/// The opened data of a training.
struct OpenedData {
    std::unique_ptr<Samples> training;
    std::unique_ptr<Samples> validation;  // null: no validation
    schedule::RunPlan plan;
    DataOrigin origin;
};
OpenedData open_data(const Task& task, const config::Settings& settings);

/// The metadata common to all checkpoints of a run.
std::map<std::string, std::string> run_metadata(const config::ParseResult& arguments,
                                                const backend::Arithmetic& arithmetic, const DataOrigin& origin,
                                                const std::vector<std::string>& class_names);

/// "" if the checkpoint has no such entry.
std::string metadata(const checkpoint::Checkpoint& checkpoint, const char* key);

/// Does nothing where a run begins anew. Error(data) when the checkpoint is one of a run on other data, unless they are
/// accepted: then a warning says what becomes of the run. It and other notices are `told` by one process.
void check_data(const RunStart& start, const DataOrigin& found, const Task& task, bool told);

/// Throws Error(usage) if the resumed run has already passed the planned end.
void refuse_shorter_run(const RunStart& start, const schedule::RunPlan& plan);

/// For a dry run. With --restore-path, reads the latest checkpoint and opens the data, then throws and warns as the run
/// would. Locks and writes nothing. Returns the checkpoint's iteration; 0 without --restore-path.
std::int64_t check_resumption(const Task& task, const config::ParseResult& arguments, const FileSystem& files);

/// Warns if the checkpoint was written with options that change numerical results, or with another number of threads.
void warn_of_other_numbers(const ResumePoint& resume, const config::ParseResult& arguments);
/// Warns if the run has used another data type so far, as on a processor that is fastest in another one.
void compare_arithmetic(const ResumePoint& resume, const backend::Arithmetic& arithmetic);

}  // namespace cnntrain::train
