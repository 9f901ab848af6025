// Writes the TFRecord files of a data set: in parallel, resumable, and with the same bytes whatever happens on the way.
//
// A plan says which source stands where; a job makes the records. Each worker writes one file at a time, and a file is
// finished or absent. <folder>/conversion.jsonl lists the finished files: a job that was stopped or killed goes on with
// the others. <folder>/skipped.txt lists the sources that gave no record.
//
//     ShardPlan plan{folder, {{"train", {{2, 0}, {1, 3}}}}, {{"seed", "7"}, {"images", digest}}};
//     ShardJob job{.produce = ..., .source_name = ..., .threads = available_processors()};
//     const ShardResult result = write_shards(plan, job);
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cnntrain/base/io.h"

namespace cnntrain::dataset_tools {

/// "train-00003-of-01024"
std::string shard_name(std::string_view prefix, std::size_t shard, std::size_t shards);

/// The files of one prefix.
struct ShardSet {
    std::string prefix;                              // "train"
    std::vector<std::vector<std::int64_t>> sources;  // by file, in the order of its records
};

/// Everything that decides the contents, by name, for the journal and for messages: {"seed", "7"}.
using Fingerprint = std::vector<std::pair<std::string, std::string>>;

struct ShardPlan {
    std::string folder;  // made if it does not exist
    std::vector<ShardSet> sets;
    Fingerprint fingerprint;
};

/// What became of one source.
struct MadeRecord {
    std::string bytes;                    // the record; empty if there is none
    std::string skipped = {};             // why there is none; empty if there is one
    std::vector<std::string> notes = {};  // counted by text: "converted from PNG"
};

struct SkippedSource {
    std::string name;
    std::string reason;
};

struct ShardProgress {
    std::int64_t done = 0;   // sources
    std::int64_t kept = 0;   // of these, in files that an earlier run finished
    std::int64_t total = 0;  // sources
    std::int64_t skipped = 0;
};

struct ShardJob {
    /// Called by several threads at once; `worker` is 0..threads-1. Depends on `source` only.
    std::function<MadeRecord(std::int64_t source, int worker)> produce;
    std::function<std::string(std::int64_t source)> source_name;
    int threads = 1;
    bool overwrite = false;  // remove what stands in the folder instead of refusing another plan's files
    std::int64_t max_skipped = std::numeric_limits<std::int64_t>::max();
    std::string unit = "records";  // what sources are called in messages

    // Optional; called by the thread that called write_shards, several times a second.
    std::function<void(const ShardProgress&)> progress = {};
    std::function<void(const SkippedSource&)> skipped = {};  // once for each, as they come
    std::function<bool()> stop_requested = {};
};

struct ShardResult {
    bool interrupted = false;            // by stop_requested; the files written so far stay
    std::vector<std::int64_t> records;   // by set
    std::uint64_t bytes = 0;             // of all files
    std::int64_t files_kept = 0;         // finished by an earlier run
    std::int64_t files_written = 0;      // by this one
    std::vector<SkippedSource> skipped;  // in plan order, with those of earlier runs
    std::map<std::string, std::int64_t> notes;
};

/// Error(usage) when the folder holds files of another plan, naming what differs, or is being written by another
/// process; Error(storage) when a file cannot be written (finished ones stay); Error(data) when more than max_skipped
/// sources are skipped. An Error thrown by `produce` ends the job.
ShardResult write_shards(const ShardPlan& plan, const ShardJob& job, FileSystem& files = posix_files());

}  // namespace cnntrain::dataset_tools
