#include "parallel/comm/reduction.h"

#include <algorithm>
#include <array>
#include <bit>

#include "cnntrain/base/error.h"

namespace cnntrain::comm {
namespace {

constexpr std::size_t kBlock = 512;  // floats: the two sums of a block stay in the first-level cache
using Block = std::array<float, kBlock>;

float as_float(float value) {
    return value;
}
/// to_float() and to_bfloat16() in a form that the compiler vectorises.
float as_float(BFloat16 value) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}
BFloat16 rounded(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t nearest = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const std::uint32_t quiet_nan = (bits >> 16) | 0x40u;
    return {static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet_nan : nearest)};
}

template <typename Stored> void add_block(const Stored* part, bool first, std::size_t count, Block& sum) {
    if (first) {
        for (std::size_t i = 0; i < count; ++i)
            sum[i] = as_float(part[i]);
    } else {
        for (std::size_t i = 0; i < count; ++i)
            sum[i] += as_float(part[i]);
    }
}

template <typename Stored>
void sum_blocks(std::span<const Stored* const> parts, const SumTree& tree, std::span<float> out) {
    Block total;
    Block group_sum;
    for (std::size_t begin = 0; begin < out.size(); begin += kBlock) {
        const std::size_t count = std::min(kBlock, out.size() - begin);
        bool first_group = true;
        for (const std::vector<int>& group : tree) {
            bool first = true;
            for (const int part : group) {
                add_block(parts[static_cast<std::size_t>(part)] + begin, first, count, group_sum);
                first = false;
            }
            add_block(group_sum.data(), first_group, count, total);
            first_group = false;
        }
        std::copy_n(total.begin(), count, out.begin() + static_cast<std::ptrdiff_t>(begin));
    }
}

}  // namespace

void sum_parts(std::span<const float* const> parts, const SumTree& tree, std::span<float> out) {
    sum_blocks(parts, tree, out);
}

void sum_parts(std::span<const BFloat16* const> parts, const SumTree& tree, std::span<float> out) {
    sum_blocks(parts, tree, out);
}

void pack(std::span<const float> values, std::span<BFloat16> packed) {
    CNNTRAIN_CHECK(values.size() == packed.size(), "sizes of what is packed");
    for (std::size_t i = 0; i < values.size(); ++i)
        packed[i] = rounded(values[i]);
}

void unpack(std::span<const BFloat16> packed, std::span<float> values) {
    CNNTRAIN_CHECK(values.size() == packed.size(), "sizes of what is unpacked");
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = as_float(packed[i]);
}

}  // namespace cnntrain::comm
