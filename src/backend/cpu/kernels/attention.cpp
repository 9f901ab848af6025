// Attention between its matrix products: softmax with mask and dropout, and its gradient, on scores that lie in the cache.
#include <cmath>
#include <cstdint>

#include "backend/cpu/kernels/targets.h"
#include "backend/cpu/kernels/tokens.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/activation-inl.h"
#include "backend/cpu/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {
namespace {

/// e^x for x <= 0: below -87, e^-87.
HWY_INLINE Floats exp_below_zero(Floats x) {
    return exp_of_number(hn::Max(x, hn::Set(FloatTag(), -87.0F)));
}

/// x * factor where the word of this query and key is kept, else 0.
HWY_INLINE Floats kept_part(const AttentionTile& tile, std::int64_t query, std::int64_t key, Floats x) {
    const BitsTag du;
    const auto first = tile.first_word + static_cast<std::uint32_t>(query * tile.keys + key);
    const Bits drawn = random_words(hn::Add(hn::Set(du, first), hn::Iota(du, 0)), tile.key.first, tile.key.second);
    const auto dropped = hn::RebindMask(FloatTag(), hn::Gt(drawn, hn::Set(du, tile.last_kept)));
    return hn::IfThenZeroElse(dropped, hn::Mul(x, hn::Set(FloatTag(), tile.factor)));
}

/// A row that holds no number stays so: the maximum of anything with a NaN may be either.
template <typename T> float probabilities_of(const AttentionTile& tile, std::int64_t query, float* scores, T* p) {
    const FloatTag d;
    const Floats scale = hn::Set(d, tile.scale);
    Floats most = hn::Set(d, -hwy::HighestValue<float>());
    for_vectors(tile.keys, [&](auto extent, std::int64_t key) {
        const Floats s = hn::MulAdd(extent.load_from(scores + key), scale, extent.load_from(tile.mask + key));
        extent.store_to(s, scores + key);
        const auto valid = hn::FirstN(d, static_cast<std::size_t>(extent.count));
        most = hn::IfThenElse(valid, hn::Max(s, most), most);
    });
    const Floats largest = hn::MaxOfLanes(d, most);
    Floats sum = hn::Zero(d);
    for_vectors(tile.keys, [&](auto extent, std::int64_t key) {
        const Floats s = hn::Sub(extent.load_from(scores + key), largest);
        const Floats e = hn::IfThenElse(hn::IsNaN(s), s, exp_below_zero(s));
        extent.store_to(e, scores + key);
        sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(d, static_cast<std::size_t>(extent.count)), e));
    });
    const Floats total = hn::SumOfLanes(d, sum);
    const Floats share = hn::Div(hn::Set(d, 1.0F), total);
    for_vectors(tile.keys, [&](auto extent, std::int64_t key) {
        Floats value = hn::Mul(extent.load_from(scores + key), share);
        if (tile.drops) value = kept_part(tile, query, key, value);
        extent.store_to(value, p + key);
    });
    return hn::GetLane(largest) + std::log(hn::GetLane(total));
}

template <typename T> void probabilities(const AttentionTile& tile, float* scores, T* p, float* log_sums) {
    for (std::int64_t query = 0; query < tile.queries; ++query) {
        const std::int64_t row = query * tile.keys;
        log_sums[query] = probabilities_of(tile, query, scores + row, p + row);
    }
}

template <typename T> void score_gradients(const AttentionTile& tile, const ScoreGradients<T>& rows) {
    const FloatTag d;
    const Floats scale = hn::Set(d, tile.scale);
    for (std::int64_t query = 0; query < tile.queries; ++query) {
        const Floats log_sum = hn::Set(d, rows.log_sums[query]);
        const Floats dot = hn::Set(d, rows.dots[query]);
        const std::int64_t row = query * tile.keys;
        for_vectors(tile.keys, [&](auto extent, std::int64_t key) {
            const Floats s = hn::MulAdd(extent.load_from(rows.scores + row + key), scale,
                                        hn::Sub(extent.load_from(tile.mask + key), log_sum));
            const Floats q = hn::IfThenElse(hn::IsNaN(s), s, exp_below_zero(s));
            Floats dp = extent.load_from(rows.dp + row + key);
            Floats p = q;
            if (tile.drops) {
                p = kept_part(tile, query, key, q);
                dp = kept_part(tile, query, key, dp);
            }
            extent.store_to(p, rows.p + row + key);
            extent.store_to(hn::Mul(hn::Mul(q, scale), hn::Sub(dp, dot)), rows.ds + row + key);
        });
    }
}

template <typename T> void dots_of_rows(std::int64_t rows, std::int64_t features, const StridedRows<T>& a,
                                        const StridedRows<T>& b, float* dots) {
    const FloatTag d;
    for (std::int64_t row = 0; row < rows; ++row) {
        const T* const left = a.first + row * a.stride;
        const T* const right = b.first + row * b.stride;
        Floats sum = hn::Zero(d);
        for_vectors(features, [&](auto extent, std::int64_t i) {
            sum = hn::MulAdd(extent.load_from(left + i), extent.load_from(right + i), sum);
        });
        dots[row] = hn::GetLane(hn::SumOfLanes(d, sum));
    }
}

template <typename T>
void spread_rows(std::int64_t rows, std::int64_t features, const float* x, std::int64_t stride, T* y) {
    for (std::int64_t row = 0; row < rows; ++row) {
        for_vectors(features, [&](auto extent, std::int64_t i) {
            extent.store_to(extent.load_from(x + row * features + i), y + row * stride + i);
        });
    }
}

void probabilities_f32(const AttentionTile& tile, float* scores, float* p, float* log_sums) {
    probabilities(tile, scores, p, log_sums);
}
void probabilities_bf16(const AttentionTile& tile, float* scores, BFloat16* p, float* log_sums) {
    probabilities(tile, scores, p, log_sums);
}
void score_gradients_f32(const AttentionTile& tile, const ScoreGradients<float>& rows) {
    score_gradients(tile, rows);
}
void score_gradients_bf16(const AttentionTile& tile, const ScoreGradients<BFloat16>& rows) {
    score_gradients(tile, rows);
}
void dots_f32(std::int64_t rows, std::int64_t features, const StridedRows<float>& a, const StridedRows<float>& b,
              float* dots) {
    dots_of_rows(rows, features, a, b, dots);
}
void dots_bf16(std::int64_t rows, std::int64_t features, const StridedRows<BFloat16>& a, const StridedRows<BFloat16>& b,
               float* dots) {
    dots_of_rows(rows, features, a, b, dots);
}
void spread_f32(std::int64_t rows, std::int64_t features, const float* x, std::int64_t stride, float* y) {
    spread_rows(rows, features, x, stride, y);
}
void spread_bf16(std::int64_t rows, std::int64_t features, const float* x, std::int64_t stride, BFloat16* y) {
    spread_rows(rows, features, x, stride, y);
}

}  // namespace
}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "backend/cpu/kernels/parallel.h"
#include "cnntrain/graph/op.h"

namespace cnntrain::cpu {
namespace {

HWY_EXPORT(probabilities_f32);
HWY_EXPORT(probabilities_bf16);
HWY_EXPORT(score_gradients_f32);
HWY_EXPORT(score_gradients_bf16);
HWY_EXPORT(dots_f32);
HWY_EXPORT(dots_bf16);
HWY_EXPORT(spread_f32);
HWY_EXPORT(spread_bf16);

constexpr auto kMasked = static_cast<float>(graph::kMaskedScore);

}  // namespace

void attention_mask(std::int64_t count, const std::int32_t* input_mask, float* mask) {
    for (std::int64_t i = 0; i < count; ++i)
        mask[i] = static_cast<float>(1 - input_mask[i]) * kMasked;
}

void attention_mask(const LengthMask& shape, const std::int32_t* masked, const std::int32_t* lengths, float* mask) {
    for (std::int64_t sample = 0; sample < shape.samples; ++sample) {
        for (std::int64_t key = 0; key < shape.tokens; ++key) {
            const bool is_token = key < masked[sample] || key >= shape.predictions;
            mask[sample * shape.tokens + key] = is_token && key < lengths[sample] ? 0 : kMasked;
        }
    }
}

template <> void attention_probabilities(const AttentionTile& tile, float* scores, float* p, float* log_sums) {
    HWY_DYNAMIC_DISPATCH(probabilities_f32)(tile, scores, p, log_sums);
}
template <> void attention_probabilities(const AttentionTile& tile, float* scores, BFloat16* p, float* log_sums) {
    HWY_DYNAMIC_DISPATCH(probabilities_bf16)(tile, scores, p, log_sums);
}
template <> void attention_score_gradients(const AttentionTile& tile, const ScoreGradients<float>& rows) {
    HWY_DYNAMIC_DISPATCH(score_gradients_f32)(tile, rows);
}
template <> void attention_score_gradients(const AttentionTile& tile, const ScoreGradients<BFloat16>& rows) {
    HWY_DYNAMIC_DISPATCH(score_gradients_bf16)(tile, rows);
}
template <> void row_dots(std::int64_t rows, std::int64_t features, const StridedRows<float>& a,
                          const StridedRows<float>& b, float* dots) {
    HWY_DYNAMIC_DISPATCH(dots_f32)(rows, features, a, b, dots);
}
template <> void row_dots(std::int64_t rows, std::int64_t features, const StridedRows<BFloat16>& a,
                          const StridedRows<BFloat16>& b, float* dots) {
    HWY_DYNAMIC_DISPATCH(dots_bf16)(rows, features, a, b, dots);
}
template <> void store_rows(std::int64_t rows, std::int64_t features, const float* x, std::int64_t stride, float* y) {
    HWY_DYNAMIC_DISPATCH(spread_f32)(rows, features, x, stride, y);
}
template <>
void store_rows(std::int64_t rows, std::int64_t features, const float* x, std::int64_t stride, BFloat16* y) {
    HWY_DYNAMIC_DISPATCH(spread_bf16)(rows, features, x, stride, y);
}

}  // namespace cnntrain::cpu

#endif  // HWY_ONCE
