// Reads the protocol-buffer wire format in place, without copying or allocating, and writes it: tf.Examples, ONNX files
// and other messages. Format: https://protobuf.dev/programming-guides/encoding
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cnntrain {

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

/// Visits the fields of one message in order. Malformed input ends the visit: next() and ok() then return false.
class WireReader {
public:
    explicit WireReader(std::span<const std::byte> message)
        : at_(message.data()), end_(message.data() + message.size()) {}

    /// Moves to the next field; returns false at the end of the message or at malformed bytes.
    bool next();
    bool ok() const { return ok_; }

    std::uint32_t field() const { return field_; }
    WireType type() const { return type_; }
    /// The field's value: a varint, or the bits of a fixed64 or fixed32.
    std::uint64_t number() const { return number_; }
    /// The field's value if its wire type is bytes.
    std::span<const std::byte> bytes() const { return bytes_; }

private:
    bool read_varint(std::uint64_t& value);
    bool read_fixed(std::size_t size);
    bool read_value(std::uint64_t type);
    bool fail();

    const std::byte* at_;
    const std::byte* end_;
    std::span<const std::byte> bytes_;
    std::uint64_t number_ = 0;
    std::uint32_t field_ = 0;
    WireType type_ = WireType::varint;
    bool ok_ = true;
};

/// Removes the next varint from the front of a packed list; returns false if the list is empty or malformed.
bool take_varint(std::span<const std::byte>& packed, std::uint64_t& value);

// Writes the protocol-buffer wire format.

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

    void reserve(std::size_t bytes) { bytes_.reserve(bytes); }
    const std::string& bytes() const& { return bytes_; }
    std::string bytes() && { return std::move(bytes_); }

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

/// The bytes of a TFRecord file around the payload of a record.
struct RecordFrame {
    std::string before;  // length of the payload, and its masked CRC
    std::string after;   // masked CRC of the payload
};
RecordFrame record_frame(std::span<const std::byte> payload);

}  // namespace cnntrain
