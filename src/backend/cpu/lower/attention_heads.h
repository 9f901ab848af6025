// Heads of sequences, as attention works on them: where their tokens lie in memory, and which of them see each other.
#pragma once

#include <omp.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/cpu/kernels/parallel.h"
#include "backend/cpu/kernels/tokens.h"
#include "backend/cpu/lower/node_context.h"
#include "backend/cpu/onednn.h"

namespace cnntrain::cpu {

// The matrix products of attention, one head at a time, on the core that works on the head, and its memory.

struct AttentionShape {
    std::int64_t samples = 0, tokens = 0, heads = 0, features = 0;  // features of one head
    std::int64_t queries = 0;                                       // of one tile
    DType type = DType::f32;

    std::int64_t tiles() const { return tokens / queries; }
    std::int64_t scores() const { return queries * tokens; }
};

/// A product that one thread runs on memory that is named each time. Each thread has its own arguments.
class HeadProduct {
public:
    /// `primitive` must have been made for one thread; `threads` run it side by side.
    HeadProduct(const OneDnn& onednn, const Primitive& primitive, int threads);

    std::size_t scratch_bytes() const { return scratch_bytes_; }
    /// c = a * b (or c += a * b), on memory laid out as the primitive's descriptors say. The status is for
    /// require_success(), which may throw.
    dnnl_status_t run(int thread, const void* a, const void* b, void* c, void* scratch) const;

private:
    struct Arguments {
        dnnl::memory a, b, c, scratch;
        std::vector<dnnl_exec_arg_t> list;
    };

    dnnl::primitive primitive_;
    dnnl::stream stream_;
    std::size_t scratch_bytes_;
    std::deque<Arguments> arguments_;  // by thread
};

/// Makes products for one thread, and counts what they need besides their operands. oneDNN's fast ones want matrices
/// without gaps: a head is copied out of the rows of its tokens, and its results back.
class ProductMaker {
public:
    explicit ProductMaker(const NodeContext& lower);

    /// a[queries,features] * b[tokens,features]^T -> f32[queries,tokens]
    HeadProduct of_features(const AttentionShape& shape);
    /// a[queries,tokens] * b[tokens,features] -> [queries,features]
    HeadProduct of_keys(const AttentionShape& shape);
    /// a[queries,tokens]^T * b[queries,features] -> [tokens,features] of this type
    HeadProduct of_queries(const AttentionShape& shape, DType result, bool accumulates);

    int threads() const { return threads_; }
    std::size_t scratch_bytes() const { return scratch_bytes_; }
    const std::string& implementation() const { return implementation_; }

private:
    HeadProduct make(const Desc& a, const Desc& b, const Desc& c, bool accumulates);

    const OneDnn& onednn_;
    int threads_;
    std::size_t scratch_bytes_ = 0;
    std::string implementation_;
};

/// A thread's room while it works on a head: arrays, each with place for so many floats, and what the products need.
class HeadMemory {
public:
    HeadMemory(float* memory, const std::vector<std::int64_t>& first) : memory_(memory), first_(&first) {}

    template <typename T> T* array(std::size_t index) const { return reinterpret_cast<T*>(memory_ + (*first_)[index]); }
    void* products() const { return array<float>(first_->size() - 1); }

private:
    float* memory_;
    const std::vector<std::int64_t>* first_;
};

/// The room of all threads. Must outlive its HeadMemory.
class HeadRoom {
public:
    HeadRoom(const NodeContext& lower, const ProductMaker& maker, const std::vector<std::int64_t>& arrays);

    HeadMemory of(int thread) const { return {scratch_().data() + thread * per_thread_, first_}; }

private:
    void add(std::int64_t floats);

    std::vector<std::int64_t> first_;
    std::int64_t per_thread_ = 0;
    std::function<std::span<float>()> scratch_;
};

/// A head of a sample's tokens, or of one sequence among them.
struct Head {
    std::int64_t sample = 0;
    std::int64_t number = 0;
    std::int64_t first_feature = 0;
    std::int64_t first_token = 0;
    std::int64_t tokens = 0;
};

/// Tokens of all samples with the features of all heads, as they lie in memory.
struct Tokens {
    Placed tensor;
    std::int64_t first = 0;   // of the first token, in elements
    std::int64_t sample = 0;  // from one sample to the next
    std::int64_t token = 0;   // from one token to the next

    /// The head's features of its first token.
    template <typename T> T* at(const Head& head) const {
        return tensor.as<T>() + first + head.sample * sample + head.first_token * token + head.first_feature;
    }
    template <typename T> StridedRows<T> rows(const Head& head) const { return {at<T>(head), token}; }
};

Tokens tokens_of(const Placed& tensor, std::int64_t first = 0);
/// A value whose features lie next to each other.
Placed token_rows(const NodeContext& lower, graph::ValueId value);

/// The lengths at which sequences are computed: the multiples of a unit, and the length of a row. A sequence is
/// computed at the next longer one, with tokens of zeros that no query sees.
class Lengths {
public:
    /// A row that is one sequence has its own length only.
    Lengths(std::int64_t tokens, bool several) : tokens_(tokens), unit_(several ? unit_of(tokens) : tokens) {}

    std::int64_t unit() const { return unit_; }
    std::size_t count() const { return index(tokens_) + 1; }
    std::int64_t at(std::size_t index) const {
        return std::min(tokens_, (static_cast<std::int64_t>(index) + 1) * unit_);
    }
    std::size_t index(std::int64_t tokens) const { return static_cast<std::size_t>((tokens - 1) / unit_); }

private:
    static std::int64_t unit_of(std::int64_t tokens) {
        constexpr std::int64_t kRows = 16;  // of a tile register
        constexpr std::int64_t kMost = 16;  // lengths
        return (tokens + kRows * kMost - 1) / (kRows * kMost) * kRows;
    }

    std::int64_t tokens_;
    std::int64_t unit_;
};

/// q, k and v, or their gradients: three tensors, or the three parts of one.
struct Parts {
    Tokens q, k, v;
};

Parts parts_of(const std::vector<Placed>& tensors, std::int64_t features);
std::vector<Placed> read_parts(const NodeContext& lower, bool packed);

/// Values that the forward and backward steps of attention share.
struct AttentionStep {
    AttentionShape shape;  // of whole rows
    Lengths lengths{1, false};
    graph::AttentionAttrs attrs;
    std::uint64_t seed = 0;
    Parts parts;
    bool has_numbers = false;
    Placed mask, statistics;        // the mask of the keys, or the numbers of the tokens
    std::vector<float> end_of_row;  // with numbers: the mask of a row's keys, and of a unit of keys after them
    Tokens y;

    /// Statistics of the head's queries.
    float* log_sums(const Head& head) const {
        return statistics.as<float>() + (head.sample * shape.heads + head.number) * shape.tokens + head.first_token;
    }
    /// The number of tokens from the head's first one on that see each other.
    std::int64_t tokens_of(const Head& head) const;
    /// Returns the tile of a head with `length` keys, without its queries.
    AttentionTile tile(const StepContext& context, const Head& head, std::int64_t length) const;
};

AttentionStep common_step(const NodeContext& lower, const std::vector<Placed>& parts, bool packed);

/// A thread's current head, and the same tokens of its next one.
struct HeadTask {
    int thread = 0;
    Head head;
    std::optional<Head> next;
};

/// Runs work(HeadTask) -> dnnl_status_t for every head of every sequence. A thread takes them in the order of memory.
template <typename Work> void for_each_head(const AttentionStep& step, const Work& work) {
    const AttentionShape& shape = step.shape;
    const std::int64_t heads = shape.samples * shape.heads;
    const auto numbered = [&](std::int64_t task, std::int64_t first_token) {
        const std::int64_t number = task % shape.heads;
        return Head{task / shape.heads, number, number * shape.features, first_token};
    };
    std::atomic<dnnl_status_t> failure = dnnl_success;
    parallel_tasks(heads, [&](std::int64_t task) {
        HeadTask now{omp_get_thread_num(), {}, {}};
        for (std::int64_t token = 0; token < shape.tokens; token += now.head.tokens) {
            now.head = numbered(task, token);
            now.head.tokens = step.tokens_of(now.head);
            if (task + 1 < heads) now.next = numbered(task + 1, token);
            const dnnl_status_t status = work(now);
            if (status != dnnl_success) failure = status;
        }
    });
    require_success(failure);
}

/// Rows that the softmax fetches while it computes. A head's rows lie far apart, so no processor foresees them.
class Ahead {
public:
    template <typename T> void add(const AttentionShape& shape, const Tokens& tokens, const Head& head) {
        constexpr auto kBytes = static_cast<std::int64_t>(sizeof(T));
        rows_.at(count_++) = {reinterpret_cast<const std::byte*>(tokens.at<T>(head)), tokens.token * kBytes,
                              shape.features * kBytes};
    }
    std::span<const RowsAhead> rows() const { return {rows_.data(), count_}; }

private:
    std::array<RowsAhead, 8> rows_;
    std::size_t count_ = 0;
};

/// Returns the queries per tile, chosen so that the scores of a tile, and in backward their gradients, fit in the
/// second-level cache.
std::int64_t queries_of_tile(std::int64_t tokens);

/// A length and the products that compute it.
template <typename Products> struct OfLength {
    AttentionShape shape;
    Products products;
};

/// Returns make(AttentionShape) for each length.
template <typename Products, typename Make>
std::vector<OfLength<Products>> of_lengths(const AttentionStep& step, const Make& make) {
    std::vector<OfLength<Products>> all;
    for (std::size_t i = 0; i < step.lengths.count(); ++i) {
        AttentionShape shape = step.shape;
        shape.tokens = step.lengths.at(i);
        shape.queries = queries_of_tile(shape.tokens);
        all.push_back({shape, make(shape)});
    }
    return all;
}

/// The scores of the largest tile of all lengths, which is not always a tile of the longest one.
template <typename Products> std::int64_t most_scores(const std::vector<OfLength<Products>>& lengths) {
    std::int64_t most = 0;
    for (const OfLength<Products>& length : lengths)
        most = std::max(most, length.shape.scores());
    return most;
}

/// Copies the head's rows next to each other, and adds rows of zeros up to the length.
template <typename T> void gather_head(const AttentionShape& shape, const Tokens& tokens, const Head& head, T* to) {
    copy_rows(head.tokens, shape.features, tokens.rows<T>(head), to, shape.features);
    std::fill(to + head.tokens * shape.features, to + shape.tokens * shape.features, T{});
}

/// Copies the head's results, from its token `query` on, to their places among the results of other heads.
template <typename T> void scatter_head(const AttentionShape& shape, const T* from, const Tokens& tokens,
                                        const Head& head, std::int64_t query, std::int64_t rows) {
    copy_rows(rows, shape.features, {from, shape.features}, tokens.at<T>(head) + query * tokens.token, tokens.token);
}

}  // namespace cnntrain::cpu
