// Where a run begins: anew, or at a checkpoint.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/io.h"
#include "cnntrain/checkpoint/checkpoint.h"
#include "cnntrain/checkpoint/folder.h"
#include "cnntrain/config/parse.h"
#include "cnntrain/train/runs.h"
#include "train/runs/run_folder.h"

namespace cnntrain::train {

// Keys of a checkpoint's metadata.
inline constexpr const char* kSeedKey = "seed";
inline constexpr const char* kSamplesKey = "samples";
inline constexpr const char* kFingerprintKey = "arguments_fingerprint";
inline constexpr const char* kThreadsKey = "compute_threads";
inline constexpr const char* kMetersKey = "meters";
inline constexpr const char* kArithmeticKey = "arithmetic";

/// The checkpoint that a run continues from.
struct ResumePoint {
    checkpoint::Found found;
    checkpoint::Checkpoint checkpoint;
};

struct RunStart {
    config::ParseResult arguments;      // with a seed: given, or that of the run that is resumed, or drawn
    std::optional<ResumePoint> resume;  // empty: a new run
    std::shared_ptr<FileLock> lock;     // of the folder of the run that is resumed
};

/// The option that names the folder of the run to resume.
std::string restore_flag(const config::ParseResult& arguments);
/// The option that names the checkpoint with whose weights a run begins.
std::string init_flag(const config::ParseResult& arguments);

/// What a user types to continue a run of these arguments that was stopped.
std::string how_to_continue(const RunFolder& folder, const config::ParseResult& arguments);

/// With --restore-path, at the latest checkpoint of that folder. Error(not_found) when there is none, Error(usage) when
/// another process writes there.
RunStart run_start(const config::ParseResult& arguments, const Host& host);

/// The run that is recorded in the folder which the restore line names. Its options are read when no other process can
/// change them any more.
RunStart restored_run_start(const TaskRow& task, const config::ParseResult& restore_line, const Host& host);

std::uint64_t seed_of(const RunStart& start);

/// The metadata that all checkpoints of a run share.
std::map<std::string, std::string> run_metadata(const config::ParseResult& arguments,
                                                const backend::Arithmetic& arithmetic);

/// "" when the checkpoint has no such entry.
std::string metadata(const checkpoint::Checkpoint& checkpoint, const char* key);

/// Warns when the checkpoint is one of a run that computed something else, or in another number of threads.
void warn_of_other_numbers(const ResumePoint& resume, const config::ParseResult& arguments);
/// Warns when the run was computed in another type so far: on a processor that is fastest in another one.
void compare_arithmetic(const ResumePoint& resume, const backend::Arithmetic& arithmetic);

}  // namespace cnntrain::train
