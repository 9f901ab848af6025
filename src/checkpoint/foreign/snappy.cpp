#include "checkpoint/foreign/snappy.h"

#include "checkpoint/foreign/bytes.h"

namespace cnntrain::checkpoint {
namespace {

/// The length of a literal: in the tag, or in the 1 to 4 bytes behind it.
std::uint64_t literal_length(std::uint8_t tag, ByteCursor& in) {
    const std::size_t code = tag >> 2;
    constexpr std::size_t kLongestInTag = 59;
    return 1 + (code <= kLongestInTag ? code : in.number(code - kLongestInTag));
}

}  // namespace

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

}  // namespace cnntrain::checkpoint
