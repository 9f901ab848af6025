// Writes the TFRecord files of a data set: in parallel, resumable, with bytes that do not depend on threads or
// interruptions.
//
// The plan assigns sources to files; the job makes the records. Each worker writes one file at a time, and a file is
// either complete or absent. <folder>/conversion.jsonl lists the finished files: a stopped or killed job continues with
// the others. <folder>/skipped.txt lists the sources that gave no record. A file that is not what the job has written
// is somebody's, and refused.
//
//     ShardPlan plan{folder, {{"train", {{2, 0}, {1, 3}}}}, {{"seed", "7"}, {"images", digest}}};
//     ShardJob job{.produce = ..., .source_name = ..., .threads = available_processors()};
//     const ShardResult result = write_shards(plan, job);
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/data/writers.h"
#include "data/records/example.h"

namespace cnntrain::data {

// Writes the tf.Example of one ImageNet record.

/// The standard keys of the published set.
struct ImageDescription {
    std::string jpeg;
    std::int64_t label = 0;  // 1..classes
    std::string synset;
    std::string file_name;
    std::int64_t height = 0;
    std::int64_t width = 0;
    std::string text = {};  // the name of the class
    std::vector<Box> boxes = {};
    std::vector<std::int64_t> box_labels = {};  // one per box
};

/// Equal descriptions give equal bytes: keys stand in alphabetical order.
std::string serialise_image_example(const ImageDescription& image);

/// Name of a file: "train-00003-of-01024".
std::string shard_name(std::string_view prefix, std::size_t shard, std::size_t shards);

/// The files with one prefix.
struct ShardSet {
    std::string prefix;                              // such as "train"
    std::vector<std::vector<std::int64_t>> sources;  // by file, in record order
};

/// Everything that determines the contents, by name, for the journal and for messages: {"seed", "7"}.
using Fingerprint = std::vector<std::pair<std::string, std::string>>;

struct ShardPlan {
    std::string folder;  // created if it does not exist
    std::vector<ShardSet> sets;
    Fingerprint fingerprint;
    std::map<std::string, std::string> texts = {};  // files beside the shards, by name; written when all shards are
};

/// The result of one source.
struct MadeRecord {
    std::string bytes;                    // the record; empty if there is none
    std::string skipped = {};             // why there is no record; empty if there is one
    std::vector<std::string> notes = {};  // counted by text: "converted from PNG"
};

struct SkippedSource {
    std::string name;
    std::string reason;
};

struct ShardJob {
    /// Called by several threads at once; `worker` is 0..threads-1. The result depends on `source` only.
    std::function<MadeRecord(std::int64_t source, int worker)> produce;
    std::function<std::string(std::int64_t source)> source_name;
    int threads = 1;
    bool overwrite = false;  // replace files of another plan and changed ones instead of refusing them
    std::int64_t max_skipped = std::numeric_limits<std::int64_t>::max();
    std::string unit = "records";  // name of sources in messages

    // Optional. Called on the thread of write_shards(), several times a second.
    std::function<void(const ConversionProgress&)> progress = {};
    std::function<void(const SkippedSource&)> skipped = {};  // once per skipped source
    std::function<bool()> stop_requested = {};
};

struct ShardResult {
    bool interrupted = false;            // stopped by stop_requested; files written so far stay
    std::vector<std::int64_t> records;   // by set
    std::uint64_t bytes = 0;             // of all files
    std::int64_t files_kept = 0;         // finished by an earlier run
    std::int64_t files_written = 0;      // finished by this run
    std::vector<SkippedSource> skipped;  // in plan order, including those of earlier runs
    std::map<std::string, std::int64_t> notes;
};

/// Throws Error(usage) if the folder has files of another plan (naming the differences) or changed ones, or another
/// process writes to it; Error(storage) if a file cannot be written (finished files stay); Error(data) if more than
/// max_skipped sources are skipped. An Error thrown by `produce` ends the job.
ShardResult write_shards(const ShardPlan& plan, const ShardJob& job, FileSystem& files = posix_files());

/// Error(storage) that also says how many of the files of a job are finished.
[[noreturn]] void fail_storing(const Error& error, std::size_t finished, std::size_t files);

/// The number that is counted under a note; 0 if there is none.
std::int64_t count_of(const std::map<std::string, std::int64_t>& notes, const char* note);

// The journal of a conversion: the plan's fingerprint, then one line per finished file.

struct FinishedFile {
    std::string name;
    std::int64_t records = 0;
    std::uint64_t bytes = 0;
    std::vector<SkippedSource> skipped = {};
    std::map<std::string, std::int64_t> notes = {};
};

/// Contents that text files beside the shards had, by name. A killed job may have left any of them.
using Lists = std::map<std::string, std::vector<FileContent>>;

struct Journal {
    Fingerprint fingerprint;  // empty if its line cannot be parsed
    std::map<std::string, FinishedFile> finished;
    Lists lists;
};

/// <folder>/conversion.jsonl, for conversions that fill a folder.
std::string journal_path(const std::string& folder);

/// Empty if there is no journal. Lines that cannot be parsed (such as an incomplete last line after a kill) are
/// ignored, and their files are written again.
std::optional<Journal> read_journal(const FileSystem& files, const std::string& path);

/// True for a file that write_journal() wrote.
bool is_journal(const FileSystem& files, const std::string& path);

/// Replaces the journal atomically.
void write_journal(FileSystem& files, const std::string& path, const Fingerprint& fingerprint,
                   const std::vector<FinishedFile>& finished, const Lists& lists = {});

void append_to_journal(FileSystem& files, const std::string& path, const FinishedFile& file);
/// Called before a list is written, so that a killed job knows it again.
void append_to_journal(FileSystem& files, const std::string& path, const std::string& list, const FileContent& content);

/// Describes the differences: "seed is 7, was 6; training files is 8, was 4".
std::string differences(const Fingerprint& now, const Fingerprint& before);

}  // namespace cnntrain::data
