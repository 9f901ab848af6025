// The checkpoints of a run's folder: names, order, which to keep.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/io.h"

namespace cnntrain::weights {

/// "<folder>/ckpt-<iteration>": the name that is printed.
std::string checkpoint_prefix(const std::string& folder, std::int64_t iteration);
inline constexpr std::string_view kCheckpointSuffix = ".safetensors";
/// The file of it: prefix + suffix.
std::string checkpoint_path(const std::string& folder, std::int64_t iteration);

/// "<folder>/ckpt-best": the best weights of a training, which --keep-ckpts does not count.
std::string best_prefix(const std::string& folder);
std::string best_path(const std::string& folder);

/// The file of a weight average: "<folder>/ckpt/<name>.safetensors".
std::string average_path(const std::string& folder, const std::string& name);

struct Found {
    std::string path;             // of the file
    std::string name;             // base name without ".safetensors": "ckpt-100", "weight_avg_N_5"
    std::int64_t iteration = -1;  // -1: not a numbered checkpoint

    bool operator==(const Found&) const = default;
};

/// Resolves a restore path: a folder (its ckpt-<n> sorted by n, then the others there and in its ckpt/ sub-folder), a
/// file, also without ".safetensors", or the PREFIX of a TensorFlow checkpoint. A folder of runs: the run that saved
/// last; a missing file, the only one of its name in sibling runs; a notice says so. Error(not_found) lists the others.
std::vector<Found> find_checkpoints(const FileSystem& files, const std::string& restore_path);

/// best_or_latest(); a notice says which one is taken unless the path names it.
Found find_checkpoint(const FileSystem& files, const std::string& flag, const std::string& restore_path);

/// The one checkpoint for which a restore path stands: the file; for a folder, ckpt-best, otherwise the last numbered
/// one, otherwise the only one. Prints nothing. Error(not_found) if there is none, Error(usage) about `flag` if none of
/// several is the last.
Found best_or_latest(const FileSystem& files, const std::string& flag, const std::string& restore_path);
/// The same, but any one of several of which none is the last: from it one learns about their run.
Found one_of(const FileSystem& files, const std::string& restore_path);

/// The run's own checkpoints, ckpt-<n> and nothing else, oldest first. None when there is no such folder.
std::vector<Found> numbered_checkpoints(const FileSystem& files, const std::string& folder);
/// True if `file_name` is exactly "ckpt-<n>.safetensors".
bool is_numbered(const std::string& file_name);

/// Throws Error(usage) if another program's result would get the name of a numbered checkpoint in the folder of a run,
/// which would resume from it, or of the run's best weights. `option` names the path.
void refuse_run_checkpoint(const FileSystem& files, const std::string& option, const std::string& path);

/// The numbered checkpoint of a folder with the highest iteration.
std::optional<Found> latest(const FileSystem& files, const std::string& folder);

/// Deletes all numbered checkpoints of a folder but the `keep` newest and the `protect`ed iterations, and partial files
/// of killed saves of these and of the best weights. Call it after a save is finished. `keep` 0 keeps all.
void retain(FileSystem& files, const std::string& folder, std::int64_t keep,
            const std::vector<std::int64_t>& protect = {});

}  // namespace cnntrain::weights
