// The memory-bound kernels of text networks. Conventions: kernels.h; formulas: cnntrain/graph/op.h.
//
// A row holds the `features` values of one token; rows are contiguous. T, In, Out: float or BFloat16.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/cpu/kernels/kernels.h"

namespace cnntrain::cpu {

// ---------------------------------------------------------------------------------------------------------------------
// Rows selected by number (rows.cpp)

/// y[i] = table[ids[i]]; zeros if an id is not in 0..rows-1.
struct TableShape {
    std::int64_t count = 0;  // of ids
    std::int64_t rows = 0;   // of the table
    std::int64_t features = 0;
};
template <typename In, typename Out>
void embedding(const TableShape& shape, const std::int32_t* ids, const In* table, Out* y);
/// dtable[ids[i]] += dy[i], in order of i; other rows are unchanged.
template <typename T> void embedding_grad(const TableShape& shape, const std::int32_t* ids, const T* dy, float* dtable,
                                          std::span<float> scratch);
std::int64_t embedding_scratch_floats(const TableShape& shape);

/// x[samples][rows][features], positions[samples][picked], y[samples][picked][features].
struct GatherShape {
    std::int64_t samples = 0, rows = 0, picked = 0, features = 0;
};
template <typename T> void gather_rows(const GatherShape& shape, const T* x, const std::int32_t* positions, T* y);
/// dx is zero for rows that were not picked.
template <typename T>
void gather_rows_grad(const GatherShape& shape, const std::int32_t* positions, const T* dy, T* dx);

// ---------------------------------------------------------------------------------------------------------------------
// Layer norm (layer_norm.cpp)

/// Random scaling of all elements of a sample; none if `active` is false.
struct ElementDropout {
    bool active = false;
    std::uint64_t seed = 0;
    std::uint64_t site = 0;
    std::int64_t first_sample = 0;
    std::uint32_t last_kept = 0;
    float factor = 1;  // for kept elements

    /// The key of the random words of a sample of this micro-batch.
    WordKey key(std::int64_t sample) const {
        return word_key(seed, RngStream::random_scale, site, static_cast<std::uint64_t>(first_sample + sample));
    }
};

struct RowsShape {
    std::int64_t samples = 0, rows = 0, features = 0;  // rows per sample
};

template <typename T> struct LayerNormForward {
    const T* x = nullptr;
    const T* residual = nullptr;  // optional
    const float* gamma = nullptr;
    const float* beta = nullptr;
    T* y = nullptr;         // may be x or residual
    T* z = nullptr;         // optional; may be x or residual, but not y; if null, z is not stored
    float* mean = nullptr;  // [samples * rows]
    float* variance = nullptr;
    float epsilon = 0;
    ElementDropout dropout = {};  // applied to x before the residual is added
};
/// y = gamma * (z - mean) / sqrt(variance + epsilon) + beta, z = dropout(x) + residual.
template <typename T>
void layer_norm(const RowsShape& shape, const LayerNormForward<T>& args, std::span<float> scratch);

template <typename T> struct LayerNormGradient {
    const T* z = nullptr;
    const T* dy = nullptr;
    const T* dy2 = nullptr;  // added to dy; optional
    const float* gamma = nullptr;
    const float* mean = nullptr;
    const float* variance = nullptr;
    T* dz = nullptr;  // may be z, dy or dy2
    T* dx = nullptr;  // dropout(dz); optional; may be z, dy or dy2, but not dz
    float* dgamma = nullptr;
    float* dbeta = nullptr;
    float epsilon = 0;
    ElementDropout dropout = {};
};
template <typename T>
void layer_norm_grad(const RowsShape& shape, const LayerNormGradient<T>& args, std::span<float> scratch);
/// Scratch for layer_norm() and its gradient.
std::int64_t layer_norm_scratch_floats(const RowsShape& shape);

// ---------------------------------------------------------------------------------------------------------------------
// Attention between its matrix products (attention.cpp). A tile is several queries of one head, with all keys.

/// mask = (1 - input_mask) * kMaskedScore.
void attention_mask(std::int64_t count, const std::int32_t* input_mask, float* mask);
/// Key k is visible if (k < masked[sample] or k >= predictions) and k < lengths[sample].
struct LengthMask {
    std::int64_t samples = 0, tokens = 0, predictions = 0;
};
void attention_mask(const LengthMask& shape, const std::int32_t* masked, const std::int32_t* lengths, float* mask);

/// Rows that will be read or written soon.
struct RowsAhead {
    const std::byte* first = nullptr;
    std::int64_t stride = 0;  // bytes between rows
    std::int64_t bytes = 0;   // bytes per row
};
/// Several queries of one head, with all keys.
struct AttentionTile {
    std::int64_t queries = 0, keys = 0;
    std::int64_t first_query = 0;  // its index in the head
    const float* mask = nullptr;   // [keys]
    float scale = 1;
    bool drops = false;
    WordKey key;                   // of the sample
    std::uint32_t first_word = 0;  // of the head's first query
    std::int64_t query_words = 0;  // from one query's first word to the next one's
    std::uint32_t last_kept = 0;
    float factor = 1;                       // for kept elements
    std::span<const RowsAhead> ahead = {};  // for each query, the row with its index is prefetched from each of these
};
/// p[queries][keys] = dropout(softmax(scale * scores + mask)); log_sums[queries]: logarithms of the sums of
/// exponentials. Overwrites the scores; p may be the scores. Runs on the calling thread only, as do the following
/// functions.
template <typename T> void attention_probabilities(const AttentionTile& tile, float* scores, T* p, float* log_sums);
/// Arguments of attention_score_gradients(): p = dropout(q) and ds = scale * q * (dropout(dp) - dots), where q =
/// exp(scale * scores + mask - log_sums). p may be the scores, ds may be dp.
template <typename T> struct ScoreGradients {
    const float* scores = nullptr;
    const float* dp = nullptr;
    const float* log_sums = nullptr;  // [queries]
    const float* dots = nullptr;      // [queries]: row_dots() of dy and y
    T* p = nullptr;
    T* ds = nullptr;
};
template <typename T> void attention_score_gradients(const AttentionTile& tile, const ScoreGradients<T>& rows);
/// Rows at a distance of `stride` elements.
template <typename T> struct StridedRows {
    const T* first = nullptr;
    std::int64_t stride = 0;
};
/// dots[i] = sum of a[i] * b[i] over the features.
template <typename T>
void row_dots(std::int64_t rows, std::int64_t features, const StridedRows<T>& a, const StridedRows<T>& b, float* dots);
/// Rows of `bytes` bytes; strides in bytes.
struct ByteRows {
    std::int64_t rows = 0, bytes = 0;
    std::int64_t from_stride = 0, to_stride = 0;
};
void copy_rows(const ByteRows& shape, const std::byte* from, std::byte* to);
template <typename T>
void copy_rows(std::int64_t rows, std::int64_t features, const StridedRows<T>& from, T* to, std::int64_t to_stride) {
    constexpr auto kBytes = static_cast<std::int64_t>(sizeof(T));
    copy_rows(ByteRows{rows, features * kBytes, from.stride * kBytes, to_stride * kBytes},
              reinterpret_cast<const std::byte*>(from.first), reinterpret_cast<std::byte*>(to));
}
/// The rows of x are contiguous; the rows of y are `stride` elements apart.
template <typename T>
void store_rows(std::int64_t rows, std::int64_t features, const float* x, std::int64_t stride, T* y);

// ---------------------------------------------------------------------------------------------------------------------
// Weighted loss of tokens (softmax.cpp)

std::int64_t token_loss_scratch_floats(std::int64_t tokens);
/// token_cross_entropy: logits [tokens, classes]. A row with a non-finite logit makes the loss NaN unless its weight is
/// 0.
template <typename T> LossSums token_cross_entropy(std::int64_t tokens, std::int64_t classes, const T* logits,
                                                   const std::int32_t* labels, const float* weights, float* log_sums,
                                                   std::span<float> scratch);
/// dlogits may be logits.
template <typename T> struct TokenLossGradient {
    const T* logits = nullptr;
    const std::int32_t* labels = nullptr;
    const float* weights = nullptr;
    const float* log_sums = nullptr;
    float dloss = 0;
    T* dlogits = nullptr;
};
template <typename T>
void token_cross_entropy_grad(std::int64_t tokens, std::int64_t classes, const TokenLossGradient<T>& args);

}  // namespace cnntrain::cpu
