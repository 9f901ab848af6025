#include "weights/foreign/bytes.h"

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
    constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
    std::vector<std::byte> piece(static_cast<std::size_t>(std::min(size_, kPiece)));
    for (std::uint64_t at = 0; at < size_; at += piece.size()) {
        piece.resize(static_cast<std::size_t>(std::min(kPiece, size_ - at)));
        file_->read_at(offset_ + at, piece);
        visit(piece);
    }
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

}  // namespace cnntrain::weights
