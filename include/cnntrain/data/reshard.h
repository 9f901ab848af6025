// The same records in another number of files. Behind `cnntrain dataset reshard`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cnntrain::data {

/// The shards of one split: "<name>-00000-of-<shards>" ...
struct ReshardSplit {
    std::string name;  // "train" or "validation"
    int shards = 1;    // to write, 1..99999
};

struct ReshardSettings {
    std::string input_folder;
    std::string output_folder;         // created; not the input folder
    std::vector<ReshardSplit> splits;  // each must be in the input folder, with all its shards
    bool shuffle = true;               // across all shards; otherwise the records keep their order
    std::uint64_t seed = 0;            // of the order
    int threads = 1;
    /// Records and bytes written so far, and the records there are; from any thread, one call at a time. May be empty.
    std::function<void(std::int64_t records, std::int64_t all_records, std::uint64_t bytes)> progress = {};
    std::function<bool()> stop_requested = {};  // asked between records; shards that are whole stay
};

struct ReshardResult {
    std::vector<std::int64_t> records;  // by split, in the order of the settings
    std::int64_t shards_written = 0;
    std::int64_t shards_kept = 0;  // of an earlier, interrupted run
    bool stopped = false;
};

/// Copies every record exactly once, byte for byte, checking both checksums of each. Memory: one record per thread and
/// the places of all records. Error(usage) for impossible settings, Error(data) for missing shards and damaged
/// records, Error(storage) as files are written.
ReshardResult reshard(const ReshardSettings& settings);

}  // namespace cnntrain::data
