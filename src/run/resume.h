// The start of a run: a new run, or one resumed from a checkpoint.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/io.h"
#include "cnntrain/data/dataset.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/parallel/communicator.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/weights/checkpoint.h"
#include "run/run_files.h"

namespace cnntrain::run {

// Checks that a run goes on with the data that it began with.

/// Origin of a run's splits.
struct DataOrigin {
    std::optional<data::Origin> training;
    std::optional<data::Origin> validation;  // empty: nothing is validated
};

/// Converts to text for a checkpoint's metadata, and back, where names of files that are no UTF-8 come out changed.
/// Error(data) for a damaged text.
std::string to_text(const DataOrigin& origin);
DataOrigin origin_of(const std::string& text);

/// "" if the splits that both know are the same; else the expected and the found data, by file.
std::string other_data(const DataOrigin& expected, const DataOrigin& found);

/// The difference of two parts: of their sizes, or, where these are equal, of their checksums.
std::string other_part(const data::OriginPart& expected, const data::OriginPart& found);

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
    weights::Found found;
    weights::Checkpoint checkpoint;
};

struct RunStart {
    options::ParseResult arguments;     // the seed is always set: as given, recorded in the resumed run, or drawn
    std::optional<ResumePoint> resume;  // empty: a new run
    std::shared_ptr<FileLock> lock;     // lock of the resumed run's folder
};

/// The flag that names the folder of the run to resume.
std::string restore_flag(const options::ParseResult& arguments);
/// The flag that names the checkpoint with the initial weights.
std::string init_flag(const options::ParseResult& arguments);

/// Says how to continue a stopped run with these arguments.
std::string how_to_continue(const RunFolder& folder, const options::ParseResult& arguments);

/// Starts a new run, or with --restore-path resumes at the latest checkpoint in that folder. Throws Error(not_found) if
/// there is none, Error(usage) if another process writes to the folder.
RunStart run_start(const options::ParseResult& arguments, const Host& host);

/// Starts the run recorded in the folder that `restore_line` names. Locks the folder before it reads the recorded
/// options, so that no other process can change them.
RunStart restored_run_start(const TaskRow& task, const options::ParseResult& restore_line, const Host& host);

std::uint64_t seed_of(const RunStart& start);

/// The opened data of a training.
struct OpenedData {
    std::unique_ptr<Samples> training;
    std::unique_ptr<Samples> validation;  // null: no validation
    schedule::RunPlan plan;
    DataOrigin origin;
};
OpenedData open_data(const Task& task, const options::Settings& settings);

/// The metadata common to all checkpoints of a run.
std::map<std::string, std::string> run_metadata(const options::ParseResult& arguments,
                                                const backend::Arithmetic& arithmetic, const DataOrigin& origin,
                                                const std::vector<std::string>& class_names);

/// "" if the checkpoint has no such entry.
std::string metadata(const weights::Checkpoint& checkpoint, const char* key);

/// Compares the data with those of the resumed run; does nothing for a new run. Error(data) if they differ, unless
/// other data are accepted: then warns what becomes of the run. `told`: true in the one process that prints warnings
/// and notices.
void check_data(const RunStart& start, const DataOrigin& found, const Task& task, bool told);

/// Throws Error(usage) if the resumed run has already passed the planned end.
void refuse_shorter_run(const RunStart& start, const schedule::RunPlan& plan);

/// Checks a resumption for a dry run. With --restore-path, reads the latest checkpoint and opens the data, then throws
/// and warns as the run would. Locks and writes nothing. Returns the checkpoint's iteration; 0 without --restore-path.
std::int64_t check_resumption(const Task& task, const options::ParseResult& arguments, const FileSystem& files);

/// Warns if the checkpoint was written with options that change numerical results, or with another number of threads.
void warn_of_other_numbers(const ResumePoint& resume, const options::ParseResult& arguments);
/// Warns if the run has used another data type so far, as on a processor that is fastest in another one.
void compare_arithmetic(const ResumePoint& resume, const backend::Arithmetic& arithmetic);

// The part of a weight update that a stopped run keeps: a file for each process beside the checkpoint of the last
// complete update, update-<iteration>.sums, with which a resumed run finishes the update.
//
// The file is written like a checkpoint: whole or not at all, with checksums. It is used only with the weights, data,
// options, processes and kind of machine with which it was made; otherwise the update is repeated, with the same
// results.

struct KeptUpdate {
    backend::PartialUpdate part;  // of this process
    double seconds = 0;           // that it took, over all stops
};

/// Micro-batches that the processes keep of an update.
struct KeptShare {
    std::int64_t least = 0;  // of one process
    std::int64_t most = 0;
};
/// Share that all processes keep; they call it together.
KeptShare kept_share(comm::Communicator& communicator, const KeptUpdate& mine);
/// "230 of 1024 micro-batches", "229 to 230 of 1024 micro-batches".
std::string share_text(const KeptShare& share, std::int64_t micro_batches);

/// "update-12.sums", with several processes "update-12-rank0.sums". `iteration`: complete updates before this one.
std::string kept_name(std::int64_t iteration, int rank, int ranks);
bool is_kept_update(std::string_view file_name);

/// Removes all such files of the folder, and what killed processes left of them.
void remove_kept_updates(FileSystem& files, const std::string& folder);

/// Facts other than the weights that a partial update belongs to, by name.
using Belonging = std::map<std::string, std::string>;

/// Rank 0 writes the parts of all ranks of the update after `iteration`; all call it together. Returns, on rank 0, why
/// they could not be written; "" if they were.
std::string save_kept_update(FileSystem& files, const std::string& folder, std::int64_t iteration,
                             const KeptUpdate& mine, Belonging belonging, const backend::Executable& executable,
                             comm::Communicator& communicator);

/// This rank's part of the update after `iteration`, if the files of all ranks are there and fit; all call it together,
/// after the executable has its weights. Calls `tell` on rank 0 with the reason why existing files are not used.
KeptUpdate load_kept_update(const FileSystem& files, const std::string& folder, std::int64_t iteration,
                            Belonging belonging, const backend::Executable& executable,
                            comm::Communicator& communicator, const std::function<void(const std::string&)>& tell);

}  // namespace cnntrain::run
