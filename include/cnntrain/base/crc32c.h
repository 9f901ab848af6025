// CRC-32C (Castagnoli, RFC 3720 appendix B.4) and TFRecord's masked form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cnntrain {

/// Uses the processor's instruction where there is one.
std::uint32_t crc32c(std::span<const std::byte> data, std::uint32_t crc = 0);

/// ((crc >> 15) | (crc << 17)) + 0xa282ead8, as stored in TFRecord files.
constexpr std::uint32_t mask_crc(std::uint32_t crc) {
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace cnntrain
