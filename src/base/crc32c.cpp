#include "cnntrain/base/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

#include "base/crc32c_paths.h"

namespace cnntrain {
namespace {

static_assert(std::endian::native == std::endian::little, "eight bytes are read at once, least significant first");

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // reflected Castagnoli polynomial

/// table[k][b]: the effect of byte b standing k bytes before the end of an eight-byte group.
constexpr auto kTable = [] {
    std::array<std::array<std::uint32_t, 256>, 8> table{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit)
            crc = (crc >> 1) ^ ((crc & 1u) != 0 ? kPolynomial : 0u);
        table[0][byte] = crc;
    }
    for (std::size_t k = 1; k < 8; ++k) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t before = table[k - 1][byte];
            table[k][byte] = (before >> 8) ^ table[0][before & 0xffu];
        }
    }
    return table;
}();

std::uint64_t load_u64(const std::byte* at) {
    std::uint64_t value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

}  // namespace

std::uint32_t crc32c_by_table(std::span<const std::byte> data, std::uint32_t crc) {
    crc = ~crc;
    const std::byte* at = data.data();
    std::size_t left = data.size();
    for (; left >= 8; at += 8, left -= 8) {
        const std::uint64_t word = load_u64(at) ^ crc;
        crc = 0;
        for (std::size_t k = 0; k < 8; ++k)
            crc ^= kTable[7 - k][(word >> (8 * k)) & 0xffu];
    }
    for (; left > 0; ++at, --left)
        crc = (crc >> 8) ^ kTable[0][(crc ^ std::to_integer<std::uint32_t>(*at)) & 0xffu];
    return ~crc;
}

#if defined(__x86_64__)

bool crc32c_instruction_available() {
    return __builtin_cpu_supports("sse4.2") != 0;
}

__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_instruction(std::span<const std::byte> data,
                                                                      std::uint32_t crc) {
    std::uint64_t state = static_cast<std::uint32_t>(~crc);
    const std::byte* at = data.data();
    std::size_t left = data.size();
    for (; left >= 8; at += 8, left -= 8)
        state = _mm_crc32_u64(state, load_u64(at));
    auto narrow = static_cast<std::uint32_t>(state);
    for (; left > 0; ++at, --left)
        narrow = _mm_crc32_u8(narrow, std::to_integer<std::uint8_t>(*at));
    return ~narrow;
}

#else

bool crc32c_instruction_available() {
    return false;
}

std::uint32_t crc32c_by_instruction(std::span<const std::byte> data, std::uint32_t crc) {
    return crc32c_by_table(data, crc);
}

#endif

std::uint32_t crc32c(std::span<const std::byte> data, std::uint32_t crc) {
    static const bool has_instruction = crc32c_instruction_available();
    return has_instruction ? crc32c_by_instruction(data, crc) : crc32c_by_table(data, crc);
}

}  // namespace cnntrain
