// Integers in bytes of a given order.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cnntrain::data {

/// A view of bytes. Numbers must lie inside it; holds() tells.
class ByteOrder {
public:
    ByteOrder(std::span<const std::byte> bytes, std::endian order) : bytes_(bytes), order_(order) {}

    std::size_t size() const { return bytes_.size(); }
    bool holds(std::uint64_t offset, std::uint64_t count) const {
        return offset <= bytes_.size() && count <= bytes_.size() - offset;
    }

    std::uint8_t u8(std::size_t at) const { return static_cast<std::uint8_t>(bytes_[at]); }
    std::uint16_t u16(std::size_t at) const { return static_cast<std::uint16_t>(number(at, 2)); }
    std::uint32_t u32(std::size_t at) const { return static_cast<std::uint32_t>(number(at, 4)); }
    std::uint64_t u64(std::size_t at) const { return number(at, 8); }

private:
    std::uint64_t number(std::size_t at, std::size_t count) const {
        std::uint64_t result = 0;
        for (std::size_t i = 0; i < count; ++i)
            result = result << 8 | u8(order_ == std::endian::big ? at + i : at + count - 1 - i);
        return result;
    }

    std::span<const std::byte> bytes_;
    std::endian order_;
};

}  // namespace cnntrain::data
