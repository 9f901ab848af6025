#include "weights/foreign/table.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "cnntrain/base/hash.h"
#include "cnntrain/base/wire.h"
#include "weights/foreign/bytes.h"

namespace cnntrain::weights {
namespace {

// Decompression of Snappy blocks. Format: google/snappy's format_description.txt.

/// The length of a literal: in the tag, or in the 1 to 4 bytes after it.
std::uint64_t literal_length(std::uint8_t tag, ByteCursor& in) {
    const std::size_t code = tag >> 2;
    constexpr std::size_t kLongestInTag = 59;
    return 1 + (code <= kLongestInTag ? code : in.number(code - kLongestInTag));
}

/// Error(data) for bytes that are no such block. `where` names them.
std::string decompress_snappy(std::span<const std::byte> block, std::string_view where) {
    ByteCursor in(block, where);
    const std::uint64_t size = in.varint();
    constexpr std::uint64_t kMostCopied = 64;  // by one tag, which has at least two bytes
    if (size > block.size() * kMostCopied) in.fail("a compressed block claims to be larger than it can be");
    std::string out;
    out.reserve(static_cast<std::size_t>(size));
    while (!in.at_end()) {
        const std::uint8_t tag = in.u8();
        const int kind = tag & 3;
        if (kind == 0) {
            const std::string_view literal = in.text(literal_length(tag, in));
            if (literal.size() > size - out.size()) in.fail("a compressed block is longer than it says");
            out += literal;
            continue;
        }
        // Copies: 3 bits of length and 11 of distance, or 6 bits of length and 2 or 4 bytes of distance.
        const std::uint64_t length = kind == 1 ? 4 + ((tag >> 2) & 7) : 1 + (tag >> 2);
        const std::uint64_t distance =
            kind == 1 ? (std::uint64_t{tag} >> 5 << 8) + in.u8() : in.number(kind == 2 ? 2 : 4);
        if (distance == 0 || distance > out.size()) in.fail("a compressed block copies what is not there");
        if (length > size - out.size()) in.fail("a compressed block is longer than it says");
        for (std::uint64_t i = 0; i < length; ++i)
            out += out[out.size() - static_cast<std::size_t>(distance)];
    }
    if (out.size() != size) in.fail("a compressed block is shorter than it says");
    return out;
}

constexpr std::uint64_t kFooterBytes = 48;
constexpr std::uint64_t kTrailerBytes = 5;  // of a block: compression and checksum
constexpr std::uint64_t kLongestKey = 4096;

/// Place of a block, without its trailer.
struct Handle {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

Handle read_handle(ByteCursor& in) {
    const std::uint64_t offset = in.varint();
    return {offset, in.varint()};
}

std::string read_block(const FileSlice& table, const Handle& handle) {
    constexpr std::string_view kWhat = "a block of its table";
    table.part(handle.offset, handle.size, kWhat);
    const std::vector<std::byte> bytes = table.read(handle.offset, handle.size + kTrailerBytes, kWhat);
    const std::span<const std::byte> content = std::span(bytes).first(static_cast<std::size_t>(handle.size));
    const std::span<const std::byte> behind = std::span(bytes).subspan(content.size());
    ByteCursor trailer(behind, table.path());
    const std::uint8_t compression = trailer.u8();
    if (trailer.u32() != mask_crc(crc32c(std::span(bytes).first(content.size() + 1))))
        fail_damaged(table.path(), "the checksum of a block of its table does not fit");
    constexpr std::uint8_t kNone = 0;
    constexpr std::uint8_t kSnappy = 1;
    if (compression == kSnappy) return decompress_snappy(content, table.path());
    if (compression != kNone)
        fail_unsupported(table.path(), "its table has compression " + std::to_string(compression));
    return std::string(text_of(content));
}

/// Visits the entries of a block, which share the beginning of their keys with the entry before. Positions of whole
/// keys follow the entries.
template <typename Visit> void visit_block(const std::string& block, const FileSlice& table, const Visit& visit) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(block));
    if (bytes.size() < 4) fail_damaged(table.path(), "a block of its table is too short");
    const std::uint64_t positions = ByteCursor(bytes.last(4), table.path()).u32();
    if (positions > (bytes.size() - 4) / 4) fail_damaged(table.path(), "a block of its table is too short");
    ByteCursor in(bytes.first(bytes.size() - 4 - static_cast<std::size_t>(positions) * 4), table.path());
    std::string key;
    while (!in.at_end()) {
        const std::uint64_t shared = in.varint();
        const std::uint64_t rest = in.varint();
        const std::uint64_t value = in.varint();
        if (shared > key.size() || rest > kLongestKey || shared + rest > kLongestKey)
            in.fail("a key of its table has an impossible length");
        key.resize(static_cast<std::size_t>(shared));
        key += in.text(rest);
        visit(key, in.text(value));
    }
}

}  // namespace

void for_each_entry(const FileSlice& table,
                    const std::function<void(std::string_view key, std::string_view value)>& visit) {
    if (table.size() < kFooterBytes) fail_damaged(table.path(), "its table has no end");
    const std::vector<std::byte> footer = table.read(table.size() - kFooterBytes, kFooterBytes, "its table's end");
    ByteCursor in(footer, table.path());
    read_handle(in);  // of the blocks' metadata
    const Handle index = read_handle(in);
    std::uint64_t end = 0;  // of the last block: blocks that overlap could make the work any amount
    visit_block(read_block(table, index), table, [&](std::string_view, std::string_view value) {
        ByteCursor place(std::as_bytes(std::span(value)), table.path());
        const Handle handle = read_handle(place);
        if (handle.offset < end) fail_damaged(table.path(), "blocks of its table overlap");
        visit_block(read_block(table, handle), table, visit);
        end = handle.offset + handle.size;
    });
}

// ---- writing ----

void BlockWriter::add(std::string_view key, std::string_view value) {
    constexpr std::size_t kWholeKeyEvery = 16;
    std::size_t shared = 0;
    if (entries_ % kWholeKeyEvery == 0) {
        whole_keys_ += fixed_width(static_cast<std::uint32_t>(bytes_.size()));
    } else {
        shared = static_cast<std::size_t>(std::ranges::mismatch(last_key_, key).in1 - last_key_.begin());
    }
    append_varint(shared, bytes_);
    append_varint(key.size() - shared, bytes_);
    append_varint(value.size(), bytes_);
    bytes_ += key.substr(shared);
    bytes_ += value;
    last_key_ = key;
    ++entries_;
}

std::string BlockWriter::finish() {
    if (empty()) whole_keys_ = fixed_width(std::uint32_t{0});
    const auto positions = static_cast<std::uint32_t>(whole_keys_.size() / sizeof(std::uint32_t));
    std::string content = bytes_ + whole_keys_ + fixed_width(positions);
    *this = {};
    return content;
}

std::string TableWriter::append(const std::string& block) {
    std::string handle;
    append_varint(file_.size(), handle);
    append_varint(block.size(), handle);
    const std::string stored = block + '\0';  // no compression
    file_ += stored + fixed_width(mask_crc(crc32c(std::as_bytes(std::span(stored)))));
    return handle;
}

void TableWriter::finish_block() {
    if (block_.empty()) return;
    const std::string last_key = block_.last_key();
    index_.add(last_key, append(block_.finish()));
}

void TableWriter::add(std::string_view key, std::string_view value) {
    constexpr std::size_t kBlockBytes = 4096;
    block_.add(key, value);
    if (block_.bytes() >= kBlockBytes) finish_block();
}

std::string TableWriter::finish() {
    finish_block();
    std::string footer = append(BlockWriter().finish());
    footer += append(index_.finish());
    footer.resize(kFooterBytes - kTableEnd.size());
    return std::move(file_) + footer + std::string(kTableEnd);
}

}  // namespace cnntrain::weights
