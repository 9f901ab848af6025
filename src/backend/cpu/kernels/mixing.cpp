// Mixup and cutmix of images in one sweep over memory.
#include <cstdint>

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/mixing.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {
namespace {

/// y = own * a + (1 - own) * b; with own = 1, exactly a.
template <typename T> void blend_range(std::int64_t count, float own, const T* a, const T* b, T* y) {
    const FloatTag d;
    const auto of_a = hn::Set(d, own);
    const auto of_b = hn::Set(d, 1 - own);
    for_vectors(count, [&](auto extent, std::int64_t i) {
        extent.store_to(hn::MulAdd(of_a, extent.load_from(a + i), hn::Mul(of_b, extent.load_from(b + i))), y + i);
    });
}

void blend_f32(std::int64_t count, float own, const float* a, const float* b, float* y) {
    blend_range(count, own, a, b, y);
}
void blend_bf16(std::int64_t count, float own, const BFloat16* a, const BFloat16* b, BFloat16* y) {
    blend_range(count, own, a, b, y);
}

}  // namespace
}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>

#include "backend/cpu/kernels/parallel.h"
#include "cnntrain/base/rng.h"

namespace cnntrain::cpu {
namespace {

HWY_EXPORT(blend_f32);
HWY_EXPORT(blend_bf16);

void call_blend(std::int64_t count, float own, const float* a, const float* b, float* y) {
    HWY_DYNAMIC_DISPATCH(blend_f32)(count, own, a, b, y);
}
void call_blend(std::int64_t count, float own, const BFloat16* a, const BFloat16* b, BFloat16* y) {
    HWY_DYNAMIC_DISPATCH(blend_bf16)(count, own, a, b, y);
}

/// Computes `count` elements of mixed image n, starting at `offset`.
template <typename T>
void mixed_elements(const MixImages& how, std::int64_t n, std::int64_t offset, std::int64_t count, const T* x, T* y) {
    if (count <= 0) return;
    const std::int64_t image = how.height * how.width * how.channels;
    const T* a = x + n * image + offset;
    if (how.own == nullptr) {
        std::copy_n(a, count, y);
    } else {
        call_blend(count, how.own[n], a, x + mixing_partner(n, 1, how.samples) * image + offset, y);
    }
}

/// The part of a box's side that is inside 0..extent.
struct Side {
    std::int64_t first = 0, end = 0;
};
Side side_of(const std::int32_t* box, std::int64_t extent) {
    const std::int64_t first = std::clamp<std::int64_t>(box[0], 0, extent);
    return {first, std::clamp<std::int64_t>(box[1], first, extent)};
}

}  // namespace

template <typename T> void mix_images(const MixImages& how, const T* x, T* y) {
    const std::int64_t row = how.width * how.channels;
    const Side rows = how.box == nullptr ? Side{} : side_of(how.box, how.height);
    const Side columns = how.box == nullptr ? Side{} : side_of(how.box + 2, how.width);
    parallel_tasks(how.samples * how.height, [&](std::int64_t task) {
        const std::int64_t n = task / how.height;
        const std::int64_t h = task % how.height;
        const std::int64_t offset = h * row;
        T* to = y + task * row;
        if (h < rows.first || h >= rows.end) return mixed_elements(how, n, offset, row, x, to);
        const std::int64_t first = columns.first * how.channels;
        const std::int64_t end = columns.end * how.channels;
        mixed_elements(how, n, offset, first, x, to);
        mixed_elements(how, mixing_partner(n, how.cutmix_distance, how.samples), offset + first, end - first, x,
                       to + first);
        mixed_elements(how, n, offset + end, row - end, x, to + end);
    });
}

template void mix_images(const MixImages&, const float*, float*);
template void mix_images(const MixImages&, const BFloat16*, BFloat16*);

}  // namespace cnntrain::cpu

#endif  // HWY_ONCE
