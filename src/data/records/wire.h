// The protocol-buffer wire format, read in place: fields are visited without copying or allocating. For records that
// are read by the hundred per second; everything else uses the generated message classes.
// Format: https://protobuf.dev/programming-guides/encoding
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cnntrain::data {

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

/// Visits the fields of one message in order. Malformed input ends the visit: next() is false and ok() is false.
class WireReader {
public:
    explicit WireReader(std::span<const std::byte> message)
        : at_(message.data()), end_(message.data() + message.size()) {}

    /// Moves to the next field; false at the end of the message or where it is malformed.
    bool next();
    bool ok() const { return ok_; }

    std::uint32_t field() const { return field_; }
    WireType type() const { return type_; }
    /// The field's value: a varint, or the bits of a fixed64 or fixed32.
    std::uint64_t number() const { return number_; }
    /// The field's value when its type is bytes.
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

/// Takes the next varint off the front of a packed list; false when the list is empty or malformed.
bool take_varint(std::span<const std::byte>& packed, std::uint64_t& value);

}  // namespace cnntrain::data
