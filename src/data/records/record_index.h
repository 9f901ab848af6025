// The positions of records in TFRecord files, and the index file that stores them.
//
// Finding the records of a large data set takes one small read per record, so the lengths are stored with the data: one
// index per folder, in that folder or, if it is not writable, in the user's cache folder. An entry is valid while its
// file has the same name, size and modification time. The index is optional: without a valid one the files are scanned,
// and failure to store one is not an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "data/records/tfrecord.h"

namespace cnntrain::data {

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
std::vector<std::byte> encode_index(const FolderIndex& index);
/// Error(data) gives the problem.
FolderIndex decode_index(std::span<const std::byte> bytes);

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
