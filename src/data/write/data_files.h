// The data files of a folder, grouped into sets.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/data/inspect.h"
#include "cnntrain/data/settings.h"

namespace cnntrain::data {

/// Shards with the same prefix and count, the batches of one CIFAR split, or the other TFRecord files of a folder.
struct FileSet {
    std::string prefix;  // "train"; "" if the files are not numbered
    std::string name;    // the prefix (with " of <count>" if there are several), "cifar-10 train", "records"
    std::optional<DatasetId> cifar = {};  // empty: TFRecords
    int count = 0;                        // expected number of shards; 0: not numbered
    std::vector<std::string> files;       // names in the folder, sorted
    std::vector<std::string> missing;     // missing files, sorted
    std::vector<std::string> beyond;      // shards whose number is not below `count`; also in `files`
};

/// "TFRecord", "cifar-10" or "cifar-100".
std::string_view format_name(const FileSet& set);

struct DataFiles {
    std::string folder;  // folder of the files: the given one, or one below it with a data set's name
    std::vector<FileSet> sets;
    std::vector<std::string> leftovers;  // names of unfinished files
};

/// Finds the data files of a folder, or a single file (as one set). Ignores files that neither are named like data nor
/// start like TFRecord files. Throws Error(data) if there is nothing.
DataFiles find_data_files(const std::string& path);

/// Total size of all sets; files whose size cannot be read count as empty.
std::uint64_t total_bytes(const DataFiles& files);

// Reads a TFRecord file from start to end in any condition: for inspecting files, not for training.

struct RawRecord {
    std::int64_t number = 0;             // counted from 0
    std::uint64_t offset = 0;            // of its header in the file
    std::span<const std::byte> payload;  // valid until the next call of next()
    bool intact = true;                  // the payload's checksum is correct
};

/// Damage because of which a file could not be read to its end.
struct FrameDamage {
    std::int64_t record = 0;
    std::uint64_t offset = 0;  // of the record; everything from there on is unchecked
    std::uint64_t unchecked_bytes = 0;
    std::string what;
};

/// True if the file starts like a TFRecord file; false for files that are too short.
bool begins_as_records(const InputFile& file);

/// Reads in large pieces. Memory: one piece, or the largest record.
class RawRecords {
public:
    explicit RawRecords(const InputFile& file) : file_(&file) {}

    /// Returns false at the end of the file, or where its framing is damaged; then damage() is set. Throws Error(data)
    /// if the operating system cannot read the file.
    bool next(RawRecord& record);
    const std::optional<FrameDamage>& damage() const { return damage_; }
    std::uint64_t done_bytes() const { return position_; }  // size of the records returned so far

private:
    std::span<const std::byte> peek(std::uint64_t size);
    bool stop(std::string what);

    const InputFile* file_;
    std::unique_ptr<std::byte[]> buffer_;  // bytes of the file starting at window_
    std::size_t capacity_ = 0;
    std::size_t filled_ = 0;
    std::uint64_t window_ = 0;
    std::uint64_t position_ = 0;  // of the next record
    std::int64_t number_ = 0;
    std::optional<FrameDamage> damage_;
};

/// Counts the bytes that several threads have read, and reports them at a limited rate.
class ByteProgress {
public:
    ByteProgress(const ReadProgress& tell, std::uint64_t total_bytes) : tell_(tell), total_bytes_(total_bytes) {}

    void add(std::uint64_t bytes) {
        const std::uint64_t done = done_bytes_ += bytes;
        if (!tell_ || done / kStepBytes == (done - bytes) / kStepBytes) return;
        const std::lock_guard lock(mutex_);
        tell_(done_bytes_, total_bytes_);
    }

private:
    static constexpr std::uint64_t kStepBytes = std::uint64_t{4} << 20;

    const ReadProgress& tell_;
    std::uint64_t total_bytes_;
    std::atomic<std::uint64_t> done_bytes_ = 0;
    std::mutex mutex_;
};

}  // namespace cnntrain::data
