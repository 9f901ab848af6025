// Where a run begins: anew, or at a checkpoint.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/io.h"
#include "cnntrain/checkpoint/checkpoint.h"
#include "cnntrain/checkpoint/folder.h"
#include "cnntrain/config/parse.h"

namespace cnntrain::train {

// Keys of a checkpoint's metadata.
inline constexpr const char* kSeedKey = "seed";
inline constexpr const char* kSamplesKey = "samples";
inline constexpr const char* kFingerprintKey = "arguments_fingerprint";
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
};

/// With --restore-path, at the latest checkpoint of that folder. Error(not_found) when there is none.
RunStart run_start(const config::ParseResult& arguments, const FileSystem& files);

std::uint64_t seed_of(const RunStart& start);

/// The metadata that all checkpoints of a run share.
std::map<std::string, std::string> run_metadata(const config::ParseResult& arguments,
                                                const backend::Arithmetic& arithmetic);

/// "" when the checkpoint has no such entry.
std::string metadata(const checkpoint::Checkpoint& checkpoint, const char* key);

/// Warns when the checkpoint is one of a run that computed something else.
void compare_fingerprints(const ResumePoint& resume, const config::ParseResult& arguments);
/// Warns when the run was computed in another type so far: on a processor that is fastest in another one.
void compare_arithmetic(const ResumePoint& resume, const backend::Arithmetic& arithmetic);

}  // namespace cnntrain::train
