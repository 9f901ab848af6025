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

/// Records of several files, numbered through in file order. Both checksums are always verified: the length's when
/// the index is built, the payload's at each read. Errors are Error(data) with file, record number in that file, byte
/// offset and what is wrong. Thread-safe.
class RecordFiles {
public:
    /// Reads every record header (not the payloads) with up to `threads` threads.
    explicit RecordFiles(std::vector<std::string> paths, int threads = 1, const FileSystem& files = posix_files());

    std::int64_t size() const { return starts_.back(); }
    const std::vector<std::string>& paths() const { return paths_; }
    /// Replaces the contents of `payload`.
    void read(std::int64_t index, std::vector<std::byte>& payload) const;
    /// "<path>, record <n> (at byte <offset>)", for messages; n counts from 0.
    std::string describe(std::int64_t index) const;

private:
    struct Entry {
        std::uint64_t offset;  // of the record's header
        std::uint64_t length;  // of the payload
    };
    struct Place {
        std::size_t file;
        std::size_t record;
    };
    void index_file(std::size_t file);
    Place place(std::int64_t index) const;

    const FileSystem* files_;
    std::vector<std::string> paths_;
    std::vector<std::unique_ptr<InputFile>> open_;  // null beyond kMaxOpenFiles: opened for each read
    std::vector<std::vector<Entry>> entries_;       // by file
    std::vector<std::int64_t> starts_;              // number of each file's first record, then the total
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
