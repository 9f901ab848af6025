#include "weights/foreign/zip.h"

#include <zlib.h>

#include <algorithm>

namespace cnntrain::weights {
namespace {

constexpr std::uint32_t kEntrySignature = 0x04034b50;
constexpr std::uint32_t kDirectorySignature = 0x02014b50;
constexpr std::uint32_t kEndSignature = 0x06054b50;
constexpr std::uint32_t kEnd64Signature = 0x06064b50;
constexpr std::uint32_t kLocatorSignature = 0x07064b50;
constexpr std::uint64_t kEndBytes = 22;  // of the end record, without its comment
constexpr std::uint64_t kLocatorBytes = 20;
constexpr std::uint64_t kEnd64Bytes = 56;
constexpr std::uint64_t kLongestComment = 0xffff;
constexpr std::uint32_t kIn64 = 0xffffffff;  // the number stands in a zip64 field
constexpr std::uint16_t kZip64Field = 1;
constexpr std::uint16_t kEncrypted = 1;  // flag

/// An entry of the directory.
struct Row {
    std::uint16_t flags = 0;
    std::uint16_t method = 0;
    std::uint32_t crc = 0;
    std::uint64_t stored = 0;  // bytes in the archive
    std::uint64_t size = 0;
    std::uint64_t offset = 0;  // of the local header
    std::string name;
};

/// Replaces the numbers that did not fit into 32 bits.
void read_zip64_field(ByteCursor extra, Row& row) {
    while (extra.left() >= 4) {
        const std::uint16_t id = extra.u16();
        const std::uint16_t size = extra.u16();
        if (id != kZip64Field) {
            extra.skip(size);
            continue;
        }
        for (std::uint64_t* number : {&row.size, &row.stored, &row.offset}) {
            if (*number == kIn64) *number = extra.u64();
        }
        return;
    }
}

Row read_row(ByteCursor& directory, const std::string& path) {
    if (directory.u32() != kDirectorySignature) directory.fail("its zip directory has a wrong mark");
    Row row;
    directory.skip(4);  // versions
    row.flags = directory.u16();
    row.method = directory.u16();
    directory.skip(4);  // time
    row.crc = directory.u32();
    row.stored = directory.u32();
    row.size = directory.u32();
    const std::uint16_t name = directory.u16();
    const std::uint16_t extra = directory.u16();
    const std::uint16_t comment = directory.u16();
    directory.skip(8);  // disk, attributes
    row.offset = directory.u32();
    row.name = directory.text(name);
    read_zip64_field(ByteCursor(directory.take(extra), path), row);
    directory.skip(comment);
    return row;
}

}  // namespace

ZipArchive::ZipArchive(FileSlice file) : file_(file) {
    const Directory found = find_directory();
    const std::vector<std::byte> bytes = file_.read(found.offset, found.size, "its zip directory");
    ByteCursor directory(bytes, file_.path());
    for (std::uint64_t i = 0; i < found.entries; ++i)
        read_entry(directory);
}

ZipArchive::Directory ZipArchive::find_directory() const {
    const std::uint64_t tail = std::min(file_.size(), kEndBytes + kLongestComment);
    const std::vector<std::byte> bytes = file_.read(file_.size() - tail, tail, "the end of the zip archive");
    for (std::uint64_t back = kEndBytes; back <= tail; ++back) {
        const std::span<const std::byte> rest = std::span(bytes).last(back);
        ByteCursor end(rest, file_.path());
        if (end.u32() != kEndSignature) continue;
        end.skip(6);  // disks
        Directory found;
        found.entries = end.u16();
        found.size = end.u32();
        found.offset = end.u32();
        const bool wide = found.entries == 0xffff || found.size == kIn64 || found.offset == kIn64;
        return wide ? zip64_directory(file_.size() - back) : found;
    }
    fail_damaged(file_.path(), "its zip directory is missing");
}

ZipArchive::Directory ZipArchive::zip64_directory(std::uint64_t end_record) const {
    if (end_record < kLocatorBytes) fail_damaged(file_.path(), "its zip64 directory is missing");
    const std::vector<std::byte> place = file_.read(end_record - kLocatorBytes, kLocatorBytes, "its zip64 locator");
    ByteCursor locator(place, file_.path());
    if (locator.u32() != kLocatorSignature) locator.fail("its zip64 locator has a wrong mark");
    locator.skip(4);  // disk
    const std::vector<std::byte> bytes = file_.read(locator.u64(), kEnd64Bytes, "its zip64 end record");
    ByteCursor end(bytes, file_.path());
    if (end.u32() != kEnd64Signature) end.fail("its zip64 end record has a wrong mark");
    end.skip(28);  // size of the record, versions, disks, entries on this disk
    Directory found;
    found.entries = end.u64();
    found.size = end.u64();
    found.offset = end.u64();
    return found;
}

void ZipArchive::read_entry(ByteCursor& directory) {
    const Row row = read_row(directory, file_.path());
    if ((row.flags & kEncrypted) != 0 || row.method != 0 || row.stored != row.size) {
        refused_[row.name] = (row.flags & kEncrypted) != 0 ? "is encrypted" : "is compressed";
        return;
    }
    constexpr std::uint64_t kHeader = 30;
    const std::vector<std::byte> bytes = file_.read(row.offset, kHeader, "its zip entry '" + row.name + "'");
    ByteCursor header(bytes, file_.path());
    if (header.u32() != kEntrySignature) header.fail("its zip entry '" + row.name + "' has a wrong mark");
    header.skip(22);  // the same as in the directory
    const std::uint64_t name_and_extra = std::uint64_t{header.u16()} + header.u16();
    const std::uint64_t begin = row.offset + kHeader + name_and_extra;
    const ZipEntry entry{file_.part(begin, row.size, "its zip entry '" + row.name + "'"), row.crc};
    if (!entries_.emplace(row.name, entry).second)
        fail_damaged(file_.path(), "it has two zip entries '" + row.name + "'");
}

std::vector<std::string> ZipArchive::names() const {
    std::vector<std::string> names;
    for (const auto& [name, entry] : entries_)
        names.push_back(name);
    for (const auto& [name, why] : refused_)
        names.push_back(name);
    std::ranges::sort(names);
    return names;
}

const ZipEntry& ZipArchive::entry(const std::string& name) const {
    const auto found = entries_.find(name);
    if (found != entries_.end()) return found->second;
    const auto refused = refused_.find(name);
    if (refused == refused_.end()) fail_damaged(file_.path(), "it has no zip entry '" + name + "'");
    fail_unsupported(file_.path(), "its zip entry '" + name + "' " + refused->second +
                                       ", and the tool that wrote it stores it plainly; unpack the archive and pack it "
                                       "again with 'zip -0'");
}

void ZipArchive::check(const std::string& name) const {
    const ZipEntry& wanted = entry(name);
    uLong crc = crc32(0, nullptr, 0);
    wanted.content.for_each_piece([&](std::span<const std::byte> piece) {
        crc = crc32(crc, reinterpret_cast<const Bytef*>(piece.data()), static_cast<uInt>(piece.size()));
    });
    if (crc != wanted.crc) fail_damaged(file_.path(), "the checksum of its zip entry '" + name + "' does not fit");
}

}  // namespace cnntrain::weights
