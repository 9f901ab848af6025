// TFRecord files: u64 length, u32 masked crc of the length, payload, u32 masked crc of the payload; little endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"

namespace cnntrain::data {

class RecordCache;

struct RecordOptions {
    int threads = 1;               // to index the files
    std::string index_name = {};   // of the index kept in the files' folder (or the user's cache folder); "": not kept
    std::int64_t cache_bytes = 0;  // memory for records that all processes of this user and host share; 0: none
    std::string cache_folder = "/dev/shm";  // on a file system in memory
};

/// What the shared cache holds now; zeros without one.
struct RecordCacheStats {
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;           // of these records
    std::uint64_t reserved_bytes = 0;  // memory taken so far, tables included
    std::uint64_t budget_bytes = 0;
    std::uint64_t hits = 0;  // reads of this object that the cache answered
};

/// Records of several files, numbered through in file order. Both checksums are verified: the length's when a file is
/// indexed, the payload's when it is read from its file. Errors are Error(data) with file, record number in that file,
/// byte offset and what is wrong. Thread-safe.
class RecordFiles {
public:
    /// Reads every record header (not the payloads), or takes the kept index where it fits the files. Error(data) for
    /// an empty file, unless no file has more than one record.
    explicit RecordFiles(std::vector<std::string> paths, const RecordOptions& options = {},
                         FileSystem& files = posix_files());
    ~RecordFiles();
    RecordFiles(const RecordFiles&) = delete;
    RecordFiles& operator=(const RecordFiles&) = delete;

    std::int64_t size() const { return starts_.back(); }
    const std::vector<std::string>& paths() const { return paths_; }
    /// The number of a file's first record; for the number of files, size().
    std::int64_t first_record(std::size_t file) const { return starts_[file]; }
    /// The payload: a view of the shared cache, valid as long as this object, or of `buffer`, valid until it changes.
    /// `buffer` only grows, so that one reader's buffer stops allocating; its size means nothing.
    [[nodiscard]] std::span<const std::byte> read(std::int64_t index, std::vector<std::byte>& buffer) const;
    /// Asks the system to read the record ahead, unless it is cached.
    void will_need(std::int64_t index) const noexcept;

    const std::string& path_of(std::int64_t index) const { return paths_[place(index).file]; }
    std::uint64_t payload_bytes(std::int64_t index) const { return place(index).length; }
    /// Of this process, for the index; the shared cache is in cache().
    std::uint64_t memory_bytes() const;
    RecordCacheStats cache() const;
    /// "<path>, record <n> (at byte <offset>)", for messages; n counts from 0.
    std::string describe(std::int64_t index) const;

private:
    struct Place {
        std::size_t file;
        std::int64_t record;   // in its file
        std::uint64_t offset;  // of the record's header
        std::uint64_t length;  // of the payload
    };
    Place place(std::int64_t index) const;
    /// `frame` has room for payload and footer; returns the payload.
    std::span<const std::byte> read_checked(const Place& at, std::span<std::byte> frame) const;

    FileSystem* files_;
    std::vector<std::string> paths_;
    std::vector<std::unique_ptr<InputFile>> open_;  // the first ones; the others are opened for each read
    std::vector<std::uint64_t> offsets_;            // of the records' headers, and at the end of each file its size
    std::vector<std::int64_t> starts_;              // number of each file's first record, then the total
    std::unique_ptr<RecordCache> cache_;            // null: none
};

/// Appends records to one file, which appears at commit().
class RecordWriter {
public:
    RecordWriter(FileSystem& files, const std::string& path) : file_(files.create(path)) {}
    void write(std::span<const std::byte> payload);
    void commit() { file_->commit(); }

private:
    std::unique_ptr<OutputFile> file_;
};

}  // namespace cnntrain::data
