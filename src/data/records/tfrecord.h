// TFRecord files: u64 length, u32 masked crc of the length, payload, u32 masked crc of the payload; little endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/data/dataset.h"

namespace cnntrain::data {

// The framing of a record in a TFRecord file, for code that reads and writes the bytes.

inline constexpr std::uint64_t kRecordHeaderBytes = 12;  // u64 length and its masked CRC
inline constexpr std::uint64_t kRecordFooterBytes = 4;   // masked CRC of the payload
inline constexpr std::uint64_t kRecordFrameBytes = kRecordHeaderBytes + kRecordFooterBytes;
/// Protocol-buffer messages are limited to this size.
inline constexpr std::uint64_t kMostPayloadBytes = (std::uint64_t{1} << 31) - 1;

template <typename T> T load_little_endian(std::span<const std::byte> bytes) {
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
        value |= static_cast<T>(static_cast<T>(bytes[i]) << (8 * i));
    return value;
}

/// Appends the record as stored in a file, with its frame.
void append_record(std::span<const std::byte> payload, std::string& bytes);

/// "<path>, record <n> (at byte <offset>)", for messages; n counts from 0.
std::string record_place(const std::string& path, std::int64_t record, std::uint64_t offset);
/// Throws Error(data): "<path>, record <n> (at byte <offset>): <what>".
[[noreturn]] void fail_record(const std::string& path, std::int64_t record, std::uint64_t offset,
                              const std::string& what);

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
    /// The place of a record, as record_place() writes it.
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

// The positions of records in TFRecord files, and the index file that stores them.
//
// Finding the records of a large data set takes one small read per record, so the lengths are stored with the data: one
// index per folder, in that folder or, if it is not writable, in the user's cache folder. An entry is valid while its
// file has the same name, size and modification time. The index is optional: without a valid one the files are scanned,
// and failure to store one is not an error.

/// The records of one file.
struct IndexedFile {
    std::uint64_t size_bytes = 0;
    std::int64_t modified_ns = 0;
    std::vector<std::uint64_t> lengths;  // of the payloads, in file order

    bool operator==(const IndexedFile&) const = default;
};

/// Indexes by file name without folder.
using FolderIndex = std::map<std::string, IndexedFile>;

/// Little endian: magic, u32 version, u32 number of files; for each file u32 length of its name, name, u64 size, i64
/// modification time, u64 number of records, u64 length of each record; u32 crc32c of everything before.
std::string encode_index(const FolderIndex& index);
/// Error(data) gives the problem.
FolderIndex decode_index(std::string_view text);

/// Reads every record's header. Throws Error(data) if one is damaged or the last record is incomplete.
IndexedFile scan_records(const InputFile& file);

/// True if a file without records is an incomplete copy. False if no file has more than one record: such a set has
/// fewer records than files.
constexpr bool is_lost(std::int64_t records, std::int64_t most_in_a_file) {
    return records == 0 && most_in_a_file > 1;
}

/// Places where the index of `folder` may be stored: next to the data, then in the user's cache folder (if there is
/// one).
std::vector<std::string> index_places(const std::string& folder, const std::string& index_name);

/// The records of `paths`, from the stored index where it is valid, otherwise from the files. The first `open.size()`
/// files are left open in `open`.
std::vector<IndexedFile> index_files(const std::vector<std::string>& paths, const RecordOptions& options,
                                     FileSystem& files, std::span<std::unique_ptr<InputFile>> open);

struct RecordCount {
    std::int64_t records = 0;
    bool exact = true;  // false: unread files are assumed to be like the others
};

/// Number of records in `paths`, from the stored index where it is valid, otherwise from the files. Writes nothing.
/// Estimates the rest after `patience_seconds`. Throws Error(data) for damaged files.
RecordCount count_records(const std::vector<std::string>& paths, const std::string& index_name, FileSystem& files,
                          double patience_seconds);

}  // namespace cnntrain::data
