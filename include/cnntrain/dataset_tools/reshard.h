// Writes the same records to another number of files. Used by `cnntrain dataset reshard`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cnntrain::dataset_tools {

/// The shards of one split: "<name>-00000-of-<shards>" ...
struct ReshardSplit {
    std::string name;  // "train" or "validation"
    int shards = 1;    // number to write, 1..99999
};

struct ReshardProgress {
    std::int64_t done = 0;  // number of records
    std::int64_t kept = 0;  // of these, in shards of an earlier run
    std::int64_t total = 0;
};

struct ReshardSettings {
    std::string input_folder;
    std::string output_folder;         // created; must differ from the input folder
    std::vector<ReshardSplit> splits;  // all shards of each must be in the input folder
    bool shuffle = true;               // across all shards; false: keep the order of the records
    std::uint64_t seed = 0;            // of the shuffle
    int threads = 1;
    bool overwrite = false;  // remove other shards of these splits in the output folder instead of refusing
    // Optional. Called on the calling thread, several times a second.
    std::function<void(const ReshardProgress&)> progress = {};
    std::function<bool()> stop_requested = {};  // finished shards stay, and a later call continues with the others
};

struct ReshardResult {
    bool interrupted = false;           // stopped by stop_requested
    std::vector<std::int64_t> records;  // in finished shards, by split in the order of the settings
    std::uint64_t bytes = 0;            // of the finished shards
    std::int64_t shards_written = 0;
    std::int64_t shards_kept = 0;  // finished by an earlier run that was stopped or killed
};

/// Copies every record exactly once, byte for byte, and checks both checksums of each. Memory: one record per thread
/// and the positions of all records. A stopped job continues where it was and gives the same bytes. Throws Error(usage)
/// for impossible settings and for an output folder with other shards, Error(data) for missing shards and damaged
/// records, Error(storage) if a file cannot be written.
ReshardResult reshard(const ReshardSettings& settings);

}  // namespace cnntrain::dataset_tools
