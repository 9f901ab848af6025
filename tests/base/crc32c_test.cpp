#include "cnntrain/base/hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string_view>
#include <vector>

#include "base/crc32c_paths.h"

namespace cnntrain {
namespace {

std::vector<std::byte> bytes(std::size_t count, int first, int step) {
    std::vector<std::byte> result(count);
    for (std::size_t i = 0; i < count; ++i)
        result[i] = static_cast<std::byte>(first + step * static_cast<int>(i));
    return result;
}

/// Random bytes: a pattern would hide blocks in the wrong place.
std::vector<std::byte> noise(std::size_t count) {
    std::vector<std::byte> result(count);
    std::minstd_rand random(5);
    for (std::byte& byte : result)
        byte = static_cast<std::byte>(random() >> 7);
    return result;
}

// RFC 3720, appendix B.4.
TEST(Crc32c, KnownAnswers) {
    EXPECT_EQ(crc32c(bytes(32, 0, 0)), 0x8a9136aau);
    EXPECT_EQ(crc32c(bytes(32, 0xff, 0)), 0x62a8ab43u);
    EXPECT_EQ(crc32c(bytes(32, 0, 1)), 0x46dd794eu);
    EXPECT_EQ(crc32c(bytes(32, 31, -1)), 0x113fdb5cu);
    const std::string_view digits = "123456789";
    EXPECT_EQ(crc32c(std::as_bytes(std::span(digits))), 0xe3069283u);
    EXPECT_EQ(crc32c({}), 0u);
}

TEST(Crc32c, TableAndInstructionAgreeAtEveryLengthAndOffset) {
    if (!crc32c_instruction_available()) GTEST_SKIP() << "this processor has no crc32 instruction";
    const auto data = noise(2010);
    for (std::size_t offset = 0; offset < 9; ++offset) {
        for (std::size_t length = 0; length <= 2000; ++length) {
            const auto part = std::span(data).subspan(offset, length);
            ASSERT_EQ(crc32c_by_table(part, 17), crc32c_by_instruction(part, 17)) << offset << " " << length;
        }
    }
}

TEST(Crc32c, TableAndInstructionAgreeOnLargeData) {
    if (!crc32c_instruction_available()) GTEST_SKIP() << "this processor has no crc32 instruction";
    const auto data = noise(300'007);
    const auto all = std::span(data);
    for (const std::size_t length : {12'287u, 12'288u, 12'289u, 24'576u, 36'863u, 100'000u, 300'000u}) {
        for (std::size_t offset = 0; offset < 8; ++offset) {
            const auto part = all.subspan(offset, std::min(length, data.size() - offset));
            ASSERT_EQ(crc32c_by_table(part, 0xdeadbeef), crc32c_by_instruction(part, 0xdeadbeef))
                << offset << " " << length;
        }
    }
}

TEST(Crc32c, EveryFlippedBitOfALargeBlockChangesTheSum) {
    auto data = noise(3 * 4096 + 3 * 128 + 11);
    const std::uint32_t right = crc32c(data);
    for (std::size_t at = 0; at < data.size(); ++at) {
        const std::byte bit{static_cast<unsigned char>(1u << (at % 8))};
        data[at] ^= bit;
        ASSERT_NE(crc32c(data), right) << at;
        data[at] ^= bit;
    }
}

TEST(Crc32c, ContinuesFromAnEarlierPart) {
    const auto data = bytes(100, 1, 7);
    const auto all = std::span(data);
    EXPECT_EQ(crc32c(all.subspan(37), crc32c(all.first(37))), crc32c(all));
}

TEST(Crc32c, MaskedFormRotatesAndAdds) {
    EXPECT_EQ(mask_crc(0), 0xa282ead8u);
    EXPECT_EQ(mask_crc(0x00008000), 0xa282ead8u + 1u);
    EXPECT_EQ(mask_crc(1), 0xa282ead8u + (1u << 17));
}

}  // namespace
}  // namespace cnntrain
