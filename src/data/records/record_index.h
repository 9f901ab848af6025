// Where the records of TFRecord files begin, and the index that keeps it on disk.
//
// Finding the records of a large data set means one small read for each record, so the lengths are kept beside the
// data:
// one index for the files of a folder, in that folder or, where it cannot be written, in the user's cache folder. An
// entry counts as long as its file has the same name, size and time of modification. The index is never needed: without
// a usable one the files are read, and failing to keep one is not an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/data/tfrecord.h"

namespace cnntrain::data {

/// One file's records.
struct IndexedFile {
    std::uint64_t size_bytes = 0;
    std::int64_t modified_ns = 0;
    std::vector<std::uint64_t> lengths;  // of the payloads, in file order

    bool operator==(const IndexedFile&) const = default;
};

/// By file name, without the folder.
using FolderIndex = std::map<std::string, IndexedFile>;

/// Little endian: magic, u32 version, u32 number of files; for each file u32 length of its name, name, u64 size, i64
/// time of modification, u64 number of records, u64 for each record's length; u32 crc32c of all before.
std::vector<std::byte> encode_index(const FolderIndex& index);
/// Error(data) says what is wrong with it.
FolderIndex decode_index(std::span<const std::byte> bytes);

/// Reads every record's header; Error(data) when one is damaged or the last record is cut.
IndexedFile scan_records(const InputFile& file);

/// Is a file without a record one that lost them? Not where no file has more than one: then there are fewer records
/// than files.
constexpr bool is_lost(std::int64_t records, std::int64_t most_in_a_file) {
    return records == 0 && most_in_a_file > 1;
}

/// Where the index of `folder` is kept: beside the data, then in the user's cache folder (if there is one).
std::vector<std::string> index_places(const std::string& folder, const std::string& index_name);

/// The records of `paths`, from the kept index where it fits and from the files otherwise. The first `open.size()`
/// files stay open there.
std::vector<IndexedFile> index_files(const std::vector<std::string>& paths, const RecordOptions& options,
                                     FileSystem& files, std::span<std::unique_ptr<InputFile>> open);

struct RecordCount {
    std::int64_t records = 0;
    bool exact = true;  // false: the files that were not looked into are taken to be like the others
};

/// How many records `paths` hold: from the kept index where it fits and from the files otherwise; nothing is written.
/// After `patience_seconds` the rest is estimated. Error(data) for damaged files.
RecordCount count_records(const std::vector<std::string>& paths, const std::string& index_name, FileSystem& files,
                          double patience_seconds);

}  // namespace cnntrain::data
