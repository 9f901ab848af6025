// Zip archives with stored entries, also of more than 4 GB (zip64). Format: PKWARE's APPNOTE.TXT.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "weights/foreign/bytes.h"

namespace cnntrain::weights {

struct ZipEntry {
    FileSlice content;
    std::uint32_t crc = 0;
};

class ZipArchive {
public:
    /// Reads the directory. Error(data) unless it and all entries lie in the file.
    explicit ZipArchive(FileSlice file);

    /// Entries by path, without compressed and encrypted ones.
    const std::map<std::string, ZipEntry>& entries() const { return entries_; }
    /// Error(data) if it is absent, Error(unsupported) if it is compressed.
    const ZipEntry& entry(const std::string& name) const;
    /// Names of all entries, sorted; also of those that cannot be read.
    std::vector<std::string> names() const;
    bool contains(const std::string& name) const { return entries_.contains(name) || refused_.contains(name); }
    /// Error(data) unless the content has the entry's checksum.
    void check(const std::string& name) const;

private:
    struct Directory {
        std::uint64_t offset = 0;
        std::uint64_t size = 0;
        std::uint64_t entries = 0;
    };
    Directory find_directory() const;
    Directory zip64_directory(std::uint64_t end_record) const;
    void read_entry(ByteCursor& directory);

    FileSlice file_;
    std::map<std::string, ZipEntry> entries_;
    std::map<std::string, std::string> refused_;  // why an entry cannot be read
};

}  // namespace cnntrain::weights
