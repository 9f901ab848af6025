// Attention between its matrix products: softmax with mask and dropout, and its gradient, on scores that are in the
// cache.
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

#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {
namespace {

/// e^x for x <= 0, and e^-87 below -87. For NaN the result is some number.
HWY_INLINE Floats exp_below_zero(Floats x) {
    return exp_of_number(hn::Max(x, hn::Set(FloatTag(), -87.0F)));
}

/// Dropout of a query's keys, one vector of keys after the other.
class KeyDropout {
public:
    HWY_INLINE KeyDropout(const AttentionTile& tile, std::int64_t query) : tile_(tile) {
        const BitsTag du;
        const std::int64_t first = (tile.first_query + query) * tile.query_words;
        index_ = hn::Add(hn::Set(du, tile.first_word + static_cast<std::uint32_t>(first)), hn::Iota(du, 0));
    }
    /// The mask of the next keys.
    HWY_INLINE auto dropped() {
        const BitsTag du;
        const Bits drawn = random_words(index_, tile_.key.first, tile_.key.second);
        index_ = hn::Add(index_, hn::Set(du, static_cast<std::uint32_t>(kWidth)));
        return hn::RebindMask(FloatTag(), hn::Gt(drawn, hn::Set(du, tile_.last_kept)));
    }

private:
    const AttentionTile& tile_;
    Bits index_;
};

/// Stores an operand of a matrix product. bfloat16 is rounded to nearest with ties away from zero, which is cheaper
/// than ties to even.
template <typename Extent> HWY_INLINE void store_operand(const Extent& extent, Floats value, float* to) {
    extent.store_to(value, to);
}
HWY_INLINE void store_operand(const Whole& /*extent*/, Floats value, BFloat16* to) {
    const BitsTag du;
    store_upper_halves(quiet_nan_or(value, hn::Add(hn::BitCast(du, value), hn::Set(du, 0x8000U))), to);
}
HWY_INLINE void store_operand(const Part& extent, Floats value, BFloat16* to) {
    extent.store_to(value, to);
}

template <typename T> void fill_with_nan(std::int64_t count, T* to) {
    const Floats nan = hn::NaN(FloatTag());
    for_vectors(count, [&](auto extent, std::int64_t i) { extent.store_to(nan, to + i); });
}

/// Prefetches into the second-level cache, because scores fill the first-level cache.
HWY_INLINE void fetch_ahead(const AttentionTile& tile, std::int64_t query) {
    constexpr std::int64_t kLineBytes = 64;
    for (const RowsAhead& rows : tile.ahead) {
        const std::byte* const row = rows.first + (tile.first_query + query) * rows.stride;
        for (std::int64_t i = 0; i < rows.bytes; i += kLineBytes)
            __builtin_prefetch(row + i, 0, 2);
    }
}

/// Computes p of a query from its exponentials e. If a row has a NaN, all its values become NaN.
template <typename T>
HWY_INLINE void divide_by_sum(const AttentionTile& tile, std::int64_t query, float sum, const float* e, T* p) {
    if (std::isnan(sum)) return fill_with_nan(tile.keys, p);
    const Floats share = hn::Set(FloatTag(), (tile.drops ? tile.factor : 1.0F) / sum);
    KeyDropout dropout(tile, query);
    for_vectors(tile.keys, [&](auto extent, std::int64_t key) {
        Floats value = hn::Mul(extent.load_from(e + key), share);
        if (tile.drops) value = hn::IfThenZeroElse(dropout.dropped(), value);
        store_operand(extent, value, p + key);
    });
}

/// Processes several queries at once, so that one row's sum can be reduced while others wait. `largest` may miss a NaN,
/// but the sum of differences does not. Stores the largest score and the sum of exponentials of each query.
template <std::int64_t kQueries, typename T> HWY_INLINE void probabilities_of(const AttentionTile& tile,
                                                                              std::int64_t query, float* scores, T* p,
                                                                              float* largest, float* sums) {
    const FloatTag d;
    const Floats scale = hn::Set(d, tile.scale);
    Floats most[kQueries];
    for (Floats& of_row : most)
        of_row = hn::Set(d, -hwy::HighestValue<float>());
    for_vectors(tile.keys, [&](auto extent, std::int64_t key) {
        const Floats mask = extent.load_from(tile.mask + key);
        const auto valid = hn::FirstN(d, static_cast<std::size_t>(extent.count));
        for (std::int64_t row = 0; row < kQueries; ++row) {
            float* const at = scores + row * tile.keys + key;
            const Floats s = hn::MulAdd(extent.load_from(at), scale, mask);
            extent.store_to(s, at);
            most[row] = hn::IfThenElse(valid, hn::Max(s, most[row]), most[row]);
        }
    });
    Floats sum[kQueries];
    Floats differences[kQueries];
    for (std::int64_t row = 0; row < kQueries; ++row) {
        most[row] = hn::MaxOfLanes(d, most[row]);
        sum[row] = differences[row] = hn::Zero(d);
    }
    for_vectors(tile.keys, [&](auto extent, std::int64_t key) {
        const auto valid = hn::FirstN(d, static_cast<std::size_t>(extent.count));
        for (std::int64_t row = 0; row < kQueries; ++row) {
            float* const at = scores + row * tile.keys + key;
            const Floats s = hn::Sub(extent.load_from(at), most[row]);
            const Floats e = exp_below_zero(s);
            extent.store_to(e, at);
            sum[row] = hn::Add(sum[row], hn::IfThenElseZero(valid, e));
            differences[row] = hn::Add(differences[row], s);
        }
    });
    for (std::int64_t row = 0; row < kQueries; ++row) {
        const Floats total = hn::SumOfLanes(d, sum[row]);
        const Floats difference = hn::SumOfLanes(d, differences[row]);
        largest[row] = hn::GetLane(most[row]);
        sums[row] = hn::GetLane(hn::IfThenElse(hn::IsNaN(difference), difference, total));
        fetch_ahead(tile, query + row);
        divide_by_sum(tile, query + row, sums[row], scores + row * tile.keys, p + row * tile.keys);
    }
}

template <typename T> void probabilities(const AttentionTile& tile, float* scores, T* p, float* log_sums) {
    constexpr std::int64_t kAtOnce = 4;
    constexpr std::int64_t kRoom = 16;  // number of queries whose logarithms are computed together
    const FloatTag d;
    float sums[kRoom];
    for (std::int64_t first = 0; first < tile.queries; first += kRoom) {
        const std::int64_t count = tile.queries - first < kRoom ? tile.queries - first : kRoom;
        std::int64_t i = 0;
        for (; i + kAtOnce <= count; i += kAtOnce) {
            const std::int64_t row = (first + i) * tile.keys;
            probabilities_of<kAtOnce>(tile, first + i, scores + row, p + row, log_sums + first + i, sums + i);
        }
        for (; i < count; ++i) {
            const std::int64_t row = (first + i) * tile.keys;
            probabilities_of<1>(tile, first + i, scores + row, p + row, log_sums + first + i, sums + i);
        }
        for_vectors(count, [&](auto extent, std::int64_t j) {
            const Floats sum = extent.load_from(sums + j);
            const Floats log_sum = hn::IfThenElse(hn::IsNaN(sum), sum, hn::Log(d, sum));
            float* const at = log_sums + first + j;
            extent.store_to(hn::Add(extent.load_from(at), log_sum), at);
        });
    }
}

/// A query whose log_sum is NaN has NaN scores; its probabilities and gradients become NaN.
template <typename T> void score_gradients(const AttentionTile& tile, const ScoreGradients<T>& rows) {
    const FloatTag d;
    const float factor = tile.drops ? tile.factor : 1.0F;
    const Floats kept_part = hn::Set(d, factor);
    const Floats scale = hn::Set(d, tile.scale);
    const Floats kept_scale = hn::Set(d, factor * tile.scale);
    for (std::int64_t query = 0; query < tile.queries; ++query) {
        const std::int64_t row = query * tile.keys;
        T* const p = rows.p + row;
        T* const ds = rows.ds + row;
        fetch_ahead(tile, query);
        if (std::isnan(rows.log_sums[query])) {
            fill_with_nan(tile.keys, p);
            fill_with_nan(tile.keys, ds);
            continue;
        }
        const Floats log_sum = hn::Set(d, rows.log_sums[query]);
        const Floats scaled_dot = hn::Set(d, rows.dots[query] * tile.scale);
        KeyDropout dropout(tile, query);
        for_vectors(tile.keys, [&](auto extent, std::int64_t key) {
            const Floats s = hn::MulAdd(extent.load_from(rows.scores + row + key), scale,
                                        hn::Sub(extent.load_from(tile.mask + key), log_sum));
            const Floats q = exp_below_zero(s);
            Floats kept = hn::Mul(q, kept_part);
            Floats dp = extent.load_from(rows.dp + row + key);
            if (tile.drops) {
                const auto dropped = dropout.dropped();
                kept = hn::IfThenZeroElse(dropped, kept);
                dp = hn::IfThenZeroElse(dropped, dp);
            }
            store_operand(extent, kept, p + key);
            store_operand(extent, hn::Mul(q, hn::MulSub(dp, kept_scale, scaled_dot)), ds + key);
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

void copy_bytes(const ByteRows& shape, const std::byte* from, std::byte* to) {
    const hn::ScalableTag<std::uint8_t> d;
    const auto width = static_cast<std::int64_t>(hn::Lanes(d));
    for (std::int64_t row = 0; row < shape.rows; ++row) {
        const auto* const x = reinterpret_cast<const std::uint8_t*>(from + row * shape.from_stride);
        auto* const y = reinterpret_cast<std::uint8_t*>(to + row * shape.to_stride);
        std::int64_t i = 0;
        for (; i + width <= shape.bytes; i += width)
            hn::StoreU(hn::LoadU(d, x + i), d, y + i);
        for (; i < shape.bytes; ++i)
            y[i] = x[i];
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
HWY_EXPORT(copy_bytes);
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
void copy_rows(const ByteRows& shape, const std::byte* from, std::byte* to) {
    HWY_DYNAMIC_DISPATCH(copy_bytes)(shape, from, to);
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
