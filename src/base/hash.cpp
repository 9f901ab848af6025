#include "cnntrain/base/hash.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
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

namespace {

/// x^exponent mod P, reflected: bit 31 stands for x^0.
constexpr std::uint32_t power_of_x(std::size_t exponent) {
    std::uint32_t value = 0x80000000u;
    for (; exponent > 0; --exponent)
        value = (value >> 1) ^ ((value & 1u) != 0 ? kPolynomial : 0u);
    return value;
}

/// Appending `bytes` zero bytes multiplies a state by x^(8 bytes). Of that the crc32 instruction multiplies 64 bits by
/// x^32, and the product of two reflected 32-bit numbers stands one bit too low, so the factor left is this.
constexpr std::uint32_t append_factor(std::size_t bytes) {
    return power_of_x(8 * bytes - 33);
}

__attribute__((target("sse4.2,pclmul"))) inline std::uint64_t carryless_product(std::uint64_t a, std::uint32_t b) {
    const __m128i product =
        _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(a)), _mm_cvtsi32_si128(static_cast<int>(b)), 0);
    return static_cast<std::uint64_t>(_mm_cvtsi128_si64(product));
}

/// The instruction takes one word a cycle but answers after three: three neighbouring blocks go through it side by
/// side, and their states are put together as if the later blocks had been appended to the earlier ones.
template <std::size_t block_bytes>
__attribute__((target("sse4.2,pclmul"))) inline std::uint64_t add_three_blocks(std::uint64_t state,
                                                                               const std::byte* at) {
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (std::size_t i = 0; i < block_bytes; i += 8) {
        state = _mm_crc32_u64(state, load_u64(at + i));
        second = _mm_crc32_u64(second, load_u64(at + block_bytes + i));
        third = _mm_crc32_u64(third, load_u64(at + 2 * block_bytes + i));
    }
    constexpr std::uint32_t kPastTwo = append_factor(2 * block_bytes);
    constexpr std::uint32_t kPastOne = append_factor(block_bytes);
    return _mm_crc32_u64(0, carryless_product(state, kPastTwo) ^ carryless_product(second, kPastOne)) ^ third;
}

constexpr std::size_t kLargeBlockBytes = 4096;
constexpr std::size_t kSmallBlockBytes = 128;

}  // namespace

bool crc32c_instruction_available() {
    return __builtin_cpu_supports("sse4.2") != 0 && __builtin_cpu_supports("pclmul") != 0;
}

__attribute__((target("sse4.2,pclmul"))) std::uint32_t crc32c_by_instruction(std::span<const std::byte> data,
                                                                             std::uint32_t crc) {
    std::uint64_t state = static_cast<std::uint32_t>(~crc);
    const std::byte* at = data.data();
    std::size_t left = data.size();
    for (; left >= 3 * kLargeBlockBytes; at += 3 * kLargeBlockBytes, left -= 3 * kLargeBlockBytes)
        state = add_three_blocks<kLargeBlockBytes>(state, at);
    for (; left >= 3 * kSmallBlockBytes; at += 3 * kSmallBlockBytes, left -= 3 * kSmallBlockBytes)
        state = add_three_blocks<kSmallBlockBytes>(state, at);
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
