// Writes the protocol-buffer wire format, for messages of a few fields. base/wire.h reads it.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace cnntrain {

static_assert(std::endian::native == std::endian::little, "fixed-width numbers are written as they stand in memory");

template <typename T> std::string fixed_width(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

inline void append_varint(std::uint64_t value, std::string& bytes) {
    for (; value >= 0x80; value >>= 7)
        bytes += static_cast<char>(static_cast<std::uint8_t>(value) | 0x80);
    bytes += static_cast<char>(value);
}

class WireMessage {
public:
    WireMessage& add(int number, std::int64_t value) {
        append_varint(static_cast<std::uint64_t>(value), key(number, 0));
        return *this;
    }
    WireMessage& add(int number, double value) { return raw(number, 1, fixed_width(value)); }
    WireMessage& add(int number, std::string_view bytes) {
        append_varint(bytes.size(), key(number, 2));
        bytes_ += bytes;
        return *this;
    }
    WireMessage& add(int number, const WireMessage& message) { return add(number, std::string_view(message.bytes_)); }
    WireMessage& add(int number, float value) { return raw(number, 5, fixed_width(value)); }
    WireMessage& add_fixed32(int number, std::uint32_t value) { return raw(number, 5, fixed_width(value)); }

    const std::string& bytes() const { return bytes_; }

private:
    std::string& key(int number, unsigned wire_type) {
        append_varint((static_cast<std::uint64_t>(number) << 3) | wire_type, bytes_);
        return bytes_;
    }
    WireMessage& raw(int number, unsigned wire_type, std::string_view bytes) {
        key(number, wire_type) += bytes;
        return *this;
    }

    std::string bytes_;
};

}  // namespace cnntrain
