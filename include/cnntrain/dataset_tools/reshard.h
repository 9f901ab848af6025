// The same records in another number of files. Behind `cnntrain dataset reshard`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cnntrain::dataset_tools {

/// The shards of one split: "<name>-00000-of-<shards>" ...
struct ReshardSplit {
    std::string name;  // "train" or "validation"
    int shards = 1;    // to write, 1..99999
};

struct ReshardProgress {
    std::int64_t done = 0;  // records
    std::int64_t kept = 0;  // of these, in shards of an earlier run
    std::int64_t total = 0;
};

struct ReshardSettings {
    std::string input_folder;
    std::string output_folder;         // created; not the input folder
    std::vector<ReshardSplit> splits;  // each must be in the input folder, with all its shards
    bool shuffle = true;               // across all shards; otherwise the records keep their order
    std::uint64_t seed = 0;            // of the order
    int threads = 1;
    bool overwrite = false;  // remove other shards of these splits in the output folder instead of refusing
    // Optional; called by the calling thread, several times a second.
    std::function<void(const ReshardProgress&)> progress = {};
    std::function<bool()> stop_requested = {};  // shards that are whole stay, and a later call goes on with the others
};

struct ReshardResult {
    bool interrupted = false;           // by stop_requested
    std::vector<std::int64_t> records;  // in finished shards, by split in the order of the settings
    std::uint64_t bytes = 0;            // of the finished shards
    std::int64_t shards_written = 0;
    std::int64_t shards_kept = 0;  // of an earlier run that was stopped or killed
};

/// Copies every record exactly once, byte for byte, checking both checksums of each. Memory: one record per thread and
/// the places of all records. A job that was stopped goes on where it was, and gives the same bytes. Error(usage) for
/// impossible settings and an output folder with other shards, Error(data) for missing shards and damaged records,
/// Error(storage) as files are written.
ReshardResult reshard(const ReshardSettings& settings);

}  // namespace cnntrain::dataset_tools
