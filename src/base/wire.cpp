#include "cnntrain/base/wire.h"

#include "cnntrain/base/hash.h"

namespace cnntrain {

bool take_varint(std::span<const std::byte>& packed, std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && !packed.empty(); shift += 7) {
        const auto byte = std::to_integer<std::uint64_t>(packed.front());
        packed = packed.subspan(1);
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

bool WireReader::fail() {
    ok_ = false;
    at_ = end_;
    return false;
}

bool WireReader::read_varint(std::uint64_t& value) {
    std::span<const std::byte> rest(at_, end_);
    if (!take_varint(rest, value)) return false;
    at_ = rest.data();
    return true;
}

bool WireReader::read_fixed(std::size_t size) {
    if (static_cast<std::size_t>(end_ - at_) < size) return false;
    number_ = 0;
    for (std::size_t i = 0; i < size; ++i)
        number_ |= std::to_integer<std::uint64_t>(*at_++) << (8 * i);
    return true;
}

bool WireReader::read_value(std::uint64_t type) {
    switch (type) {
        case 0:
            type_ = WireType::varint;
            return read_varint(number_);
        case 1:
            type_ = WireType::fixed64;
            return read_fixed(8);
        case 2: {
            type_ = WireType::bytes;
            std::uint64_t length = 0;
            if (!read_varint(length) || length > static_cast<std::uint64_t>(end_ - at_)) return false;
            bytes_ = {at_, static_cast<std::size_t>(length)};
            at_ += length;
            return true;
        }
        case 5:
            type_ = WireType::fixed32;
            return read_fixed(4);
        default:
            return false;  // no message read here uses groups
    }
}

bool WireReader::next() {
    constexpr std::uint64_t kMaxFieldNumber = (1U << 29) - 1;
    if (at_ == end_) return false;
    std::uint64_t tag = 0;
    if (!read_varint(tag)) return fail();
    const std::uint64_t number = tag >> 3;
    if (number == 0 || number > kMaxFieldNumber) return fail();
    field_ = static_cast<std::uint32_t>(number);
    return read_value(tag & 7) || fail();
}

RecordFrame record_frame(std::span<const std::byte> payload) {
    const auto masked = [](std::span<const std::byte> bytes) { return fixed_width(mask_crc(crc32c(bytes))); };
    const std::string length = fixed_width(std::uint64_t{payload.size()});
    return {length + masked(std::as_bytes(std::span(length))), masked(payload)};
}

}  // namespace cnntrain
