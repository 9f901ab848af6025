#include "weights/foreign/bytes.h"

#include <zlib.h>

#include <algorithm>
#include <utility>

#include "cnntrain/base/memory.h"
#include "cnntrain/base/text.h"

namespace cnntrain::weights {

void fail_damaged(const std::string& path, const std::string& what) {
    throw Error(ErrorKind::data, "'" + path + "': " + what + "; the file is damaged or cut short: use another one");
}

void fail_unsupported(const std::string& path, const std::string& what) {
    throw Error(ErrorKind::unsupported, "'" + path + "': " + what);
}

std::string_view text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void ByteCursor::fail(const std::string& what) const {
    fail_damaged(std::string(where_), what + " at byte " + std::to_string(position_));
}

std::span<const std::byte> ByteCursor::take(std::uint64_t count) {
    if (count > left()) fail(std::to_string(count) + " bytes are missing");
    const auto taken = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += taken.size();
    return taken;
}

std::uint64_t ByteCursor::number(std::size_t size) {
    const auto bytes = take(size);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i)
        value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
    return value;
}

std::uint64_t ByteCursor::varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const std::uint64_t byte = u8();
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
    fail("a number is too long");
}

std::string_view ByteCursor::text(std::uint64_t count) {
    return text_of(take(count));
}

std::string_view ByteCursor::line() {
    const std::string_view rest = text_of(bytes_.subspan(position_));
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) fail("a line has no end");
    position_ += end + 1;
    return rest.substr(0, end);
}

void ByteCursor::go_to(std::uint64_t position) {
    if (position > bytes_.size()) fail("a position lies beyond the end");
    position_ = static_cast<std::size_t>(position);
}

FileSlice FileSlice::part(std::uint64_t at, std::uint64_t count, std::string_view what) const {
    if (!holds(at, count)) {
        fail_damaged(path(), std::string(what) + " needs " + size_text(count) + " from byte " + std::to_string(at) +
                                 " of " + std::to_string(size_));
    }
    return {*file_, offset_ + at, count};
}

std::vector<std::byte> FileSlice::read(std::uint64_t at, std::uint64_t count, std::string_view what) const {
    const FileSlice wanted = part(at, count, what);
    std::vector<std::byte> bytes(static_cast<std::size_t>(count));
    file_->read_at(wanted.offset_, bytes);
    return bytes;
}

std::vector<std::byte> FileSlice::read_up_to(std::uint64_t at, std::uint64_t most) const {
    return at >= size_ ? std::vector<std::byte>() : read(at, std::min(most, size_ - at), "");
}

void FileSlice::read_into(std::uint64_t at, std::span<std::byte> out, std::string_view what) const {
    file_->read_at(part(at, out.size(), what).offset_, out);
}

void FileSlice::for_each_piece(const std::function<void(std::span<const std::byte>)>& visit) const {
    cnntrain::for_each_piece(*file_, offset_, size_, visit);
}

NameBudget::NameBudget(std::string path, std::uint64_t file_bytes) : path_(std::move(path)) {
    constexpr std::uint64_t kTimes = 16;
    constexpr std::uint64_t kLeast = std::uint64_t{1} << 20;  // small files have relatively long names
    constexpr std::uint64_t kShareOfMemory = 4;
    of_file_ = std::max(kLeast, kTimes * file_bytes);
    of_memory_ = memory_left().bytes / kShareOfMemory;
}

void NameBudget::spend(std::uint64_t bytes) {
    spent_ += bytes;
    if (spent_ > of_file_) fail_damaged(path_, "its names need more than 16 times its own size");
    if (spent_ <= of_memory_) return;
    const MemoryLeft left = memory_left();
    fail_unsupported(path_, "its names need more than " + size_text(spent_) + ", and the process has " +
                                size_text(left.bytes) + " more " + left.limit + "; " + left.remedy);
}

std::string shown_name(std::string_view name) {
    constexpr std::size_t kLongest = 200;
    if (name.size() <= kLongest) return printable(name);
    return printable(name.substr(0, kLongest)) + "... (" + std::to_string(name.size()) + " bytes)";
}

bool add_length(Shape& shape, std::uint64_t length) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 60;  // bytes, of at most 8 an element
    std::uint64_t elements = 1;
    for (const std::int64_t before : shape)
        elements *= std::max<std::uint64_t>(1, static_cast<std::uint64_t>(before));
    if (length > kMost / 8 / elements) return false;
    shape.push_back(static_cast<std::int64_t>(length));
    return true;
}

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
