#include "parallel/comm/reduction.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "parallel/comm/transport.h"

namespace cnntrain::comm {
namespace {

TEST(Summation, PackingRoundsAsTensorsDo) {
    std::vector<float> values = {0.0F,
                                 -0.0F,
                                 1.0F,
                                 std::numeric_limits<float>::infinity(),
                                 -std::numeric_limits<float>::max(),
                                 std::numeric_limits<float>::quiet_NaN(),
                                 std::numeric_limits<float>::denorm_min()};
    for (std::uint32_t bits = 0x3f800000; bits < 0x3f840000; bits += 0x1fff) {  // below, at and above ties
        values.push_back(std::bit_cast<float>(bits));
        values.push_back(std::bit_cast<float>((bits & 0xffff0000U) | 0x8000U));
    }
    values.push_back(std::bit_cast<float>(0x7f800001U));  // a NaN whose upper half alone would be infinity
    std::vector<BFloat16> packed(values.size());
    std::vector<float> unpacked(values.size());
    pack(values, packed);
    unpack(packed, unpacked);
    for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_EQ(packed[i].bits, to_bfloat16(values[i]).bits) << values[i];
        EXPECT_EQ(std::bit_cast<std::uint32_t>(unpacked[i]), std::bit_cast<std::uint32_t>(to_float(packed[i])));
    }
}

TEST(Summation, FollowsTheTree) {
    const std::vector<float> big = {1e8F};
    const std::vector<float> minus = {-1e8F};
    const std::vector<float> one = {1.0F};
    std::vector<float> out(1);
    const std::vector<const float*> parts = {big.data(), one.data(), minus.data()};
    sum_parts(parts, {{0, 1, 2}}, out);
    EXPECT_EQ(out[0], 0.0F);  // (1e8 + 1) - 1e8
    sum_parts(parts, {{0, 2}, {1}}, out);
    EXPECT_EQ(out[0], 1.0F);  // (1e8 - 1e8) + 1
    sum_parts(parts, {{0}, {2, 1}}, out);
    EXPECT_EQ(out[0], 0.0F);  // 1e8 + (-1e8 + 1)
}

TEST(Nodes, AreNumberedByTheirLowestRanks) {
    const std::vector<std::uint64_t> round_robin = {7, 3, 7, 3, 7};
    const Nodes nodes = group_nodes(round_robin, 0);
    EXPECT_EQ(nodes.members, (std::vector<std::vector<int>>{{0, 2, 4}, {1, 3}}));
    EXPECT_EQ(nodes.node_of, (std::vector<int>{0, 1, 0, 1, 0}));
    EXPECT_EQ(nodes.local_rank(4), 2);
    EXPECT_EQ(group_nodes(round_robin, 2).members, (std::vector<std::vector<int>>{{0, 2}, {1, 3}, {4}}));
}

}  // namespace
}  // namespace cnntrain::comm
