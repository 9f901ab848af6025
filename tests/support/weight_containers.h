// Containers of other programs' weights with any content: zip archives, and sorted tables with checksums.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cnntrain/base/hash.h"

namespace cnntrain::test {

inline void append_number(std::string& text, std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
        text += static_cast<char>(value >> (8 * i));
}

inline void append_varint(std::string& text, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        text += static_cast<char>(value | 0x80);
    text += static_cast<char>(value);
}

/// The CRC-32 of zip archives: the reversed polynomial 0xEDB88320.
inline std::uint32_t zip_crc(std::string_view content) {
    std::uint32_t crc = 0xffffffff;
    for (const char c : content) {
        crc ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit)
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320 : 0);
    }
    return ~crc;
}

struct ZipFields {
    std::uint16_t flags = 0;
    std::uint16_t method = 0;
    bool zip64 = false;  // all numbers stand in 64 bits
};

/// An archive of stored entries.
inline std::string zip_of(const std::vector<std::pair<std::string, std::string>>& entries, ZipFields fields = {}) {
    std::string file;
    std::string directory;
    const auto append_common = [&](std::string& to, const std::string& name, const std::string& content,
                                   std::size_t extra_bytes) {
        append_number(to, fields.flags, 2);
        append_number(to, fields.method, 2);
        append_number(to, 0, 4);  // time
        append_number(to, zip_crc(content), 4);
        append_number(to, fields.zip64 ? 0xffffffff : content.size(), 4);
        append_number(to, fields.zip64 ? 0xffffffff : content.size(), 4);
        append_number(to, name.size(), 2);
        append_number(to, extra_bytes, 2);
    };
    for (const auto& [name, content] : entries) {
        std::string extra;
        if (fields.zip64) {
            append_number(extra, 1, 2);
            append_number(extra, 24, 2);
            append_number(extra, content.size(), 8);
            append_number(extra, content.size(), 8);
            append_number(extra, file.size(), 8);
        }
        directory += "PK\x01\x02";
        append_number(directory, 0, 4);  // versions
        append_common(directory, name, content, extra.size());
        directory += std::string(10, '\0');  // comment, disk, attributes
        append_number(directory, fields.zip64 ? 0xffffffff : file.size(), 4);
        directory += name + extra;

        file += "PK\x03\x04";
        append_number(file, 0, 2);  // version
        append_common(file, name, content, 0);
        file += name + content;
    }
    const std::uint64_t begin = file.size();
    file += directory;
    if (fields.zip64) {
        const std::uint64_t end = file.size();
        file += "PK\x06\x06";
        append_number(file, 44, 8);
        append_number(file, 0, 4);  // versions
        append_number(file, 0, 8);  // disks
        append_number(file, entries.size(), 8);
        append_number(file, entries.size(), 8);
        append_number(file, directory.size(), 8);
        append_number(file, begin, 8);
        file += "PK\x06\x07";
        append_number(file, 0, 4);
        append_number(file, end, 8);
        append_number(file, 1, 4);
    }
    file += "PK\x05\x06";
    append_number(file, 0, 4);  // disks
    append_number(file, fields.zip64 ? 0xffff : entries.size(), 2);
    append_number(file, fields.zip64 ? 0xffff : entries.size(), 2);
    append_number(file, fields.zip64 ? 0xffffffff : directory.size(), 4);
    append_number(file, fields.zip64 ? 0xffffffff : begin, 4);
    append_number(file, 0, 2);
    return file;
}

/// The content of a table's block: entries whose keys share nothing.
inline std::string table_block(const std::vector<std::pair<std::string, std::string>>& entries) {
    std::string block;
    for (const auto& [key, value] : entries) {
        append_varint(block, 0);
        append_varint(block, key.size());
        append_varint(block, value.size());
        block += key + value;
    }
    append_number(block, 0, 4);  // the first entry's position
    append_number(block, 1, 4);
    return block;
}

/// A table with these blocks as they are stored; `compression`: 0 none, 1 Snappy.
inline std::string table_of(const std::vector<std::string>& blocks, std::uint8_t compression = 0) {
    std::string file;
    const auto append_block = [&](std::string content, std::uint8_t stored_with) {
        std::string handle;
        append_varint(handle, file.size());
        append_varint(handle, content.size());
        content += static_cast<char>(stored_with);
        file += content;
        append_number(file, mask_crc(crc32c(std::as_bytes(std::span(content)))), 4);
        return handle;
    };
    std::vector<std::pair<std::string, std::string>> index;
    for (const std::string& block : blocks)
        index.emplace_back("key" + std::to_string(index.size()), append_block(block, compression));
    std::string footer = append_block(table_block({}), 0) + append_block(table_block(index), 0);
    footer.resize(40);
    return file + footer + "\x57\xfb\x80\x8b\x24\x75\x47\xdb";
}

}  // namespace cnntrain::test
