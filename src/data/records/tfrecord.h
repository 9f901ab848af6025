// TFRecord files: u64 length, u32 masked crc of the length, payload, u32 masked crc of the payload; little endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/data/dataset.h"

namespace cnntrain::data {

struct RecordOptions {
    int threads = 1;              // for indexing the files
    std::string index_name = {};  // name of the index stored beside the files or in the user's cache; "": not stored
};

/// The records of several files, numbered consecutively in file order. Both checksums are verified: that of the length
/// when a file is indexed, that of the payload when it is read from the file. Error(data) gives the file, the record's
/// number in it, its byte offset and the problem. Thread-safe.
class RecordFiles {
public:
    /// Reads all record headers (not the payloads), or uses the stored index if it matches the files. Throws
    /// Error(data) for an empty file, unless no file has more than one record.
    explicit RecordFiles(std::vector<std::string> paths, const RecordOptions& options = {},
                         FileSystem& files = posix_files());
    RecordFiles(const RecordFiles&) = delete;
    RecordFiles& operator=(const RecordFiles&) = delete;

    std::int64_t size() const { return starts_.back(); }
    const std::vector<std::string>& paths() const { return paths_; }
    /// The number of a file's first record. For `file` equal to the number of files: size().
    std::int64_t first_record(std::size_t file) const { return starts_[file]; }
    /// The payload, as a view into `buffer`, which only grows, so that a reader that reuses it stops allocating; its
    /// size has no meaning.
    [[nodiscard]] std::span<const std::byte> read(std::int64_t index, std::vector<std::byte>& buffer) const;
    /// Asks the system to read the record ahead.
    void will_need(std::int64_t index) const noexcept;

    const std::string& path_of(std::int64_t index) const { return paths_[place(index).file]; }
    std::uint64_t payload_bytes(std::int64_t index) const { return place(index).length; }
    /// The files, with a checksum of their records' lengths.
    std::vector<OriginPart> parts() const;
    /// Memory of the index.
    std::uint64_t memory_bytes() const;
    /// "<path>, record <n> (at byte <offset>)", for messages; n counts from 0.
    std::string describe(std::int64_t index) const;

private:
    struct Place {
        std::size_t file;
        std::int64_t record;   // number in its file
        std::uint64_t offset;  // of the record's header
        std::uint64_t length;  // of the payload
    };
    Place place(std::int64_t index) const;
    /// `frame` has room for payload and footer. Returns the payload.
    std::span<const std::byte> read_checked(const Place& at, std::span<std::byte> frame) const;

    FileSystem* files_;
    std::vector<std::string> paths_;
    std::vector<std::unique_ptr<InputFile>> open_;  // the first files; others are opened for each read
    std::vector<std::uint64_t> offsets_;            // of the records' headers; for each file, also its size
    std::vector<std::int64_t> starts_;              // number of each file's first record, then the total
};

/// Appends records to one file, which becomes visible at commit().
class RecordWriter {
public:
    RecordWriter(FileSystem& files, const std::string& path) : file_(files.create(path)) {}
    void write(std::span<const std::byte> payload);
    const FileContent& content() const { return content_; }
    void commit() { file_->commit(); }

private:
    FileContent content_;
    std::unique_ptr<OutputFile> file_;
};

}  // namespace cnntrain::data
