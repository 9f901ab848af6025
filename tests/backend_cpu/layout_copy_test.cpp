// The layouts that own copies are made for are those that oneDNN means by them.
#include <gtest/gtest.h>

#include <vector>

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/tiles.h"
#include "backend/cpu/onednn.h"
#include "cnntrain/base/rng.h"

namespace cnntrain::cpu {
namespace {

using Tag = dnnl::memory::format_tag;

std::vector<std::byte> bytes_of(const dnnl::memory& memory) {
    const auto* first = static_cast<const std::byte*>(memory.get_data_handle());
    return {first, first + memory.get_desc().get_size()};
}

void expect_same_as_onednn(DType type, Tag tag, std::int64_t panel_columns) {
    constexpr std::int64_t kRows = 75;
    constexpr std::int64_t kColumns = 130;
    const Desc plain({kRows, kColumns}, to_dnnl(DType::f32), Tag::ab);
    const Desc blocked({kRows, kColumns}, to_dnnl(type), tag);
    const std::optional<Panels> panels = panels_of(blocked);
    ASSERT_TRUE(panels);
    EXPECT_EQ(panels->panel_columns, panel_columns);
    const OneDnn onednn;
    dnnl::memory from(plain, onednn.engine());
    Rng rng(1, RngStream::test);
    auto* const values = static_cast<float*>(from.get_data_handle());
    for (std::int64_t i = 0; i < kRows * kColumns; ++i)
        values[i] = static_cast<float>(rng.uniform(-2, 2));
    dnnl::memory theirs(blocked, onednn.engine());
    dnnl::stream stream = onednn.stream();
    dnnl::reorder(onednn.reorder_desc(plain, blocked)).execute(stream, from, theirs);
    stream.wait();
    const dnnl::memory own(blocked, onednn.engine());
    if (type == DType::f32) {
        copy_to_panels(*panels, values, static_cast<float*>(own.get_data_handle()));
    } else {
        copy_to_panels(*panels, values, static_cast<BFloat16*>(own.get_data_handle()));
    }
    EXPECT_EQ(bytes_of(own), bytes_of(theirs)) << layout_name(blocked);
}

TEST(LayoutCopy, PanelsAreThoseOfOneDnn) {
    expect_same_as_onednn(DType::f32, Tag::BA16a64b, 64);
    expect_same_as_onednn(DType::f32, Tag::BA16a48b, 48);
    expect_same_as_onednn(DType::f32, Tag::BA16a32b, 32);
    expect_same_as_onednn(DType::f32, Tag::BA16a16b, 16);
    expect_same_as_onednn(DType::bf16, Tag::BA16a64b2a, 64);
    expect_same_as_onednn(DType::bf16, Tag::BA16a48b2a, 48);
    expect_same_as_onednn(DType::bf16, Tag::BA16a32b2a, 32);
    expect_same_as_onednn(DType::bf16, Tag::BA16a16b2a, 16);
}

/// The layouts of tile products, as oneDNN's reorder fills them.
template <typename Copy> void expect_tiles_as_onednn(const Desc& blocked, const Copy& copy) {
    constexpr std::int64_t kRows = 96;
    constexpr std::int64_t kColumns = 160;
    const Desc plain({kRows, kColumns}, to_dnnl(DType::bf16), Tag::ab);
    ASSERT_EQ(blocked.get_size(), plain.get_size());
    const OneDnn onednn;
    dnnl::memory from(plain, onednn.engine());
    auto* const values = static_cast<BFloat16*>(from.get_data_handle());
    for (std::int64_t i = 0; i < kRows * kColumns; ++i)
        values[i] = to_bfloat16(static_cast<float>(i % 251) - 100);
    dnnl::memory theirs(blocked, onednn.engine());
    dnnl::stream stream = onednn.stream();
    dnnl::reorder(onednn.reorder_desc(plain, blocked)).execute(stream, from, theirs);
    stream.wait();
    const dnnl::memory own(blocked, onednn.engine());
    copy(kRows, kColumns, values, static_cast<BFloat16*>(own.get_data_handle()));
    EXPECT_EQ(bytes_of(own), bytes_of(theirs));
}

TEST(LayoutCopy, TilesAreThoseOfOneDnn) {
    if (!has(TileUnit::dot_products)) GTEST_SKIP() << "this processor has no AVX512-BF16";
    const Desc matrix({96, 160}, to_dnnl(DType::bf16), Tag::ab);
    expect_tiles_as_onednn(right_tiles_desc(matrix), [](auto rows, auto columns, const BFloat16* from, BFloat16* to) {
        copy_to_panels(Panels{rows, columns, rows, kTileBlock}, from, to);
    });
    expect_tiles_as_onednn(turned_right_tiles_desc(matrix),
                           [](auto rows, auto columns, const BFloat16* from, BFloat16* to) {
                               copy_to_right_panels(RightPanels<BFloat16>{rows, columns, from, to});
                           });
    expect_tiles_as_onednn(turned_left_tiles_desc(matrix), copy_to_turned_left_panels);
}

TEST(LayoutCopy, OtherLayoutsAreNoPanels) {
    EXPECT_FALSE(panels_of(Desc({64, 64}, to_dnnl(DType::f32), Tag::ab)));
    EXPECT_FALSE(panels_of(Desc({64, 64}, to_dnnl(DType::f32), Tag::BA16a64b2a)));
    EXPECT_FALSE(panels_of(Desc({64, 64}, to_dnnl(DType::bf16), Tag::BA16a64b)));
    EXPECT_FALSE(panels_of(Desc({64, 64, 3, 3}, to_dnnl(DType::f32), Tag::OIhw16i16o)));
    EXPECT_TRUE(is_row_major_matrix(Desc({3, 4}, to_dnnl(DType::f32), Tag::ab)));
    EXPECT_FALSE(is_row_major_matrix(Desc({3, 4}, to_dnnl(DType::f32), Tag::ba)));
}

}  // namespace
}  // namespace cnntrain::cpu
