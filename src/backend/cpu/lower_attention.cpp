// Attention: a head at a time, its products by oneDNN on the core that works on the head, softmax in between by own kernels.
// Scores exist for one tile of queries at a time, in the core's second-level cache. Backward computes them again.
#include <omp.h>

#include <atomic>
#include <optional>

#include "backend/cpu/attention_products.h"
#include "backend/cpu/kernels/parallel.h"
#include "backend/cpu/kernels/tokens.h"
#include "backend/cpu/lowering.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {

using graph::AttentionAttrs;
using graph::ValueId;

namespace {

void lower_attention_mask(Lowering& lower) {
    const auto& attrs = lower.node().as<graph::AttentionMaskAttrs>();
    const auto& inputs = lower.node().inputs;
    const ValueId output = lower.node().outputs[0];
    const TensorDesc& desc = lower.graph().desc(output);
    const Placed first = lower.operand(inputs[0]);
    const Placed mask = lower.define(output, row_major(desc));
    if (attrs.sequence == 0) {
        lower.add_step("kernel", {first}, {mask}, [=, count = desc.elements()](const StepContext&) {
            attention_mask(count, first.as<std::int32_t>(), mask.as<float>());
        });
        return;
    }
    const Placed lengths = lower.operand(inputs[1]);
    const LengthMask shape{desc.shape[0], desc.shape[1], attrs.predictions};
    lower.add_step("kernel", {first, lengths}, {mask}, [=](const StepContext&) {
        attention_mask(shape, first.as<std::int32_t>(), lengths.as<std::int32_t>(), mask.as<float>());
    });
}

/// Tokens of all samples with the features of all heads, as they lie in memory.
struct Tokens {
    Placed tensor;
    std::int64_t first = 0;   // of the first token, in elements
    std::int64_t sample = 0;  // from one sample to the next
    std::int64_t token = 0;   // from one token to the next

    template <typename T> T* at(std::int64_t index, std::int64_t feature) const {
        return tensor.as<T>() + first + index * sample + feature;
    }
    /// The features of a head, from its first token on.
    template <typename T> StridedRows<T> rows(std::int64_t index, std::int64_t feature) const {
        return {at<T>(index, feature), token};
    }
};

Tokens tokens_of(const Placed& tensor, std::int64_t first = 0) {
    const Dims strides = strides_of(tensor.desc);
    return {tensor, first, strides.at(0), strides.at(1)};
}

/// A value whose features lie next to each other.
Placed token_rows(Lowering& lower, ValueId value) {
    const Placed tensor = lower.strided(value);
    return strides_of(tensor.desc).at(2) == 1 ? tensor : lower.in_order(value);
}

struct AttentionShape {
    std::int64_t samples = 0, tokens = 0, heads = 0, features = 0;  // features of one head
    std::int64_t queries = 0;                                       // of one tile
    DType type = DType::f32;

    std::int64_t tiles() const { return tokens / queries; }
    std::int64_t scores() const { return queries * tokens; }
};

/// As many queries as keep the scores of a tile, and in backward their gradients, in the second-level cache.
std::int64_t queries_of_tile(std::int64_t tokens) {
    constexpr std::int64_t kMostScores = 1 << 16;
    constexpr std::int64_t kLeastQueries = 32;
    for (std::int64_t tiles = 1; tokens / tiles >= kLeastQueries; ++tiles) {
        if (tokens % tiles == 0 && tokens / tiles * tokens <= kMostScores) return tokens / tiles;
    }
    return tokens;
}

/// q, k and v, or their gradients: three tensors, or the three parts of one.
struct Parts {
    Tokens q, k, v;
};

Parts parts_of(const std::vector<Placed>& tensors, std::int64_t features) {
    if (tensors.size() == 1)
        return {tokens_of(tensors[0]), tokens_of(tensors[0], features), tokens_of(tensors[0], 2 * features)};
    return {tokens_of(tensors.at(0)), tokens_of(tensors.at(1)), tokens_of(tensors.at(2))};
}

std::vector<Placed> read_parts(Lowering& lower, bool packed) {
    std::vector<Placed> tensors;
    for (std::size_t i = 0; i < (packed ? 1 : 3); ++i)
        tensors.push_back(token_rows(lower, lower.node().inputs[i]));
    return tensors;
}

Desc matrix(std::int64_t rows, std::int64_t columns, DType type, bool transposed = false) {
    using Tag = dnnl::memory::format_tag;
    return Desc({rows, columns}, to_dnnl(type), transposed ? Tag::ba : Tag::ab);
}

/// Makes products for one thread, and counts what they need besides their operands. oneDNN's fast ones want matrices
/// without gaps: a head is copied out of the rows of its tokens, and its results back.
class ProductMaker {
public:
    ProductMaker(const Lowering& lower, const AttentionShape& shape)
        : onednn_(lower.onednn()), shape_(shape), threads_(omp_get_max_threads()) {}

    /// a[queries,features] * b[tokens,features]^T -> f32[queries,tokens]
    TileProduct of_features() {
        return make(matrix(shape_.queries, shape_.features, shape_.type),
                    matrix(shape_.features, shape_.tokens, shape_.type, true),
                    matrix(shape_.queries, shape_.tokens, DType::f32), false);
    }
    /// a[queries,tokens] * b[tokens,features] -> f32[queries,features]
    TileProduct of_keys() {
        return make(matrix(shape_.queries, shape_.tokens, shape_.type),
                    matrix(shape_.tokens, shape_.features, shape_.type),
                    matrix(shape_.queries, shape_.features, DType::f32), false);
    }
    /// a[queries,tokens]^T * b[queries,features] -> f32[tokens,features]
    TileProduct of_queries(bool accumulates) {
        return make(matrix(shape_.tokens, shape_.queries, shape_.type, true),
                    matrix(shape_.queries, shape_.features, shape_.type),
                    matrix(shape_.tokens, shape_.features, DType::f32), accumulates);
    }

    int threads() const { return threads_; }
    std::size_t scratch_bytes() const { return scratch_bytes_; }
    const std::string& implementation() const { return implementation_; }

private:
    TileProduct make(const Desc& a, const Desc& b, const Desc& c, bool accumulates) {
        const Threads one(1);
        const Primitive primitive = accumulates ? onednn_.accumulating_matmul(a, b, c) : onednn_.matmul(a, b, c, false);
        implementation_ = primitive.implementation;
        scratch_bytes_ = std::max(scratch_bytes_, primitive.scratchpad.get_size());
        return {onednn_, primitive, threads_};
    }

    const OneDnn& onednn_;
    AttentionShape shape_;
    int threads_;
    std::size_t scratch_bytes_ = 0;
    std::string implementation_;
};

/// Room of each thread while it works on a head: arrays, each with place for so many floats, and what the products need.
class HeadRoom {
public:
    HeadRoom(Lowering& lower, const ProductMaker& maker, const std::vector<std::int64_t>& arrays) {
        for (const std::int64_t floats : arrays)
            add(floats);
        add(static_cast<std::int64_t>(maker.scratch_bytes() / sizeof(float)) + 1);
        scratch_ = lower.scratch_floats(per_thread_ * maker.threads());
    }

    template <typename T> T* array(int thread, std::size_t index) const {
        return reinterpret_cast<T*>(scratch_().data() + thread * per_thread_ + first_[index]);
    }
    void* products(int thread) const { return array<float>(thread, first_.size() - 1); }

private:
    void add(std::int64_t floats) {
        constexpr std::int64_t kLine = 16;  // floats of a cache line
        first_.push_back(per_thread_);
        per_thread_ += (floats + kLine - 1) / kLine * kLine;
    }

    std::vector<std::int64_t> first_;
    std::int64_t per_thread_ = 0;
    std::function<std::span<float>()> scratch_;
};

/// What forward and backward have in common.
struct AttentionStep {
    AttentionShape shape;
    AttentionAttrs attrs;
    std::uint64_t seed = 0;
    Parts parts;
    Placed mask, statistics;
    Tokens y;

    /// Statistics of the head's queries.
    float* log_sums(std::int64_t sample, std::int64_t head) const {
        return statistics.as<float>() + (sample * shape.heads + head) * shape.tokens;
    }
    AttentionTile tile(const StepContext& context, std::int64_t sample, std::int64_t head) const {
        AttentionTile tile;
        tile.queries = shape.queries;
        tile.keys = shape.tokens;
        tile.mask = mask.as<float>() + sample * shape.tokens;
        tile.scale = static_cast<float>(attrs.scale);
        tile.drops = attrs.keep < 1;
        if (!tile.drops) return tile;
        tile.key = word_key(seed, RngStream::random_scale, attrs.site,
                            static_cast<std::uint64_t>(context.first_sample + sample));
        tile.first_word = static_cast<std::uint32_t>(head * shape.tokens * shape.tokens);
        tile.last_kept = last_word_within(attrs.keep);
        tile.factor = static_cast<float>(1 / attrs.keep);
        return tile;
    }
};

/// Runs work(thread, sample, head) -> dnnl_status_t for every head.
template <typename Work> void for_each_head(const AttentionShape& shape, const Work& work) {
    std::atomic<dnnl_status_t> failure = dnnl_success;
    parallel_tasks(shape.samples * shape.heads, [&](std::int64_t task) {
        const dnnl_status_t status = work(omp_get_thread_num(), task / shape.heads, task % shape.heads);
        if (status != dnnl_success) failure = status;
    });
    require_success(failure);
}

AttentionStep common_step(Lowering& lower, const std::vector<Placed>& parts, bool packed) {
    const TensorDesc& first = lower.graph().desc(lower.node().inputs[0]);
    AttentionStep step;
    step.attrs = lower.node().as<AttentionAttrs>();
    step.seed = lower.request().runtime.seed;
    step.mask = lower.operand(lower.node().inputs[packed ? 1 : 3]);
    const std::int64_t features = first.shape[2] / (packed ? 3 : 1);
    step.parts = parts_of(parts, features);
    step.shape = {.samples = first.shape[0],
                  .tokens = first.shape[1],
                  .heads = step.attrs.heads,
                  .features = features / step.attrs.heads,
                  .queries = queries_of_tile(first.shape[1]),
                  .type = first.dtype};
    return step;
}

/// What a thread works on.
struct Head {
    int thread = 0;
    std::int64_t sample = 0;
    std::int64_t first_feature = 0;
};

/// Copies the head's rows next to each other.
template <typename T> void gather_head(const AttentionShape& shape, const Tokens& tokens, const Head& head, T* to) {
    const StridedRows<T> rows = tokens.rows<T>(head.sample, head.first_feature);
    for (std::int64_t token = 0; token < shape.tokens; ++token)
        std::copy_n(rows.first + token * rows.stride, shape.features, to + token * shape.features);
}

struct ForwardProducts {
    TileProduct scores, y;
};

enum ForwardArray : std::uint8_t { forward_scores, forward_q, forward_k, forward_v, forward_y };

template <typename T> dnnl_status_t attend(const AttentionStep& step, const ForwardProducts& products,
                                           const HeadRoom& room, AttentionTile tile, const Head& head,
                                           float* log_sums) {
    const AttentionShape& shape = step.shape;
    T* const q = room.array<T>(head.thread, forward_q);
    T* const k = room.array<T>(head.thread, forward_k);
    T* const v = room.array<T>(head.thread, forward_v);
    gather_head(shape, step.parts.q, head, q);
    gather_head(shape, step.parts.k, head, k);
    gather_head(shape, step.parts.v, head, v);
    float* const scores = room.array<float>(head.thread, forward_scores);
    T* const p = room.array<T>(head.thread, forward_scores);
    float* const y = room.array<float>(head.thread, forward_y);
    void* const scratch = room.products(head.thread);
    for (std::int64_t query = 0; query < shape.tokens; query += shape.queries) {
        dnnl_status_t status = products.scores.run(head.thread, q + query * shape.features, k, scores, scratch);
        if (status != dnnl_success) return status;
        attention_probabilities(tile, scores, p, log_sums + query);
        status = products.y.run(head.thread, p, v, y, scratch);
        if (status != dnnl_success) return status;
        store_rows(shape.queries, shape.features, y, step.y.token,
                   step.y.at<T>(head.sample, head.first_feature) + query * step.y.token);
        tile.first_word += static_cast<std::uint32_t>(shape.scores());
    }
    return dnnl_success;
}

void lower_attention(Lowering& lower) {
    const bool packed = lower.node().inputs.size() == 2;
    const auto& outputs = lower.node().outputs;
    const std::vector<Placed> parts = read_parts(lower, packed);
    AttentionStep step = common_step(lower, parts, packed);
    const Placed y = lower.define(outputs[0], row_major(lower.graph().desc(outputs[0])));
    step.y = tokens_of(y);
    step.statistics = lower.define(outputs[1], row_major(lower.graph().desc(outputs[1])));
    ProductMaker maker(lower, step.shape);
    const ForwardProducts products{maker.of_features(), maker.of_keys()};
    const std::int64_t of_head = step.shape.tokens * step.shape.features;
    const HeadRoom room(lower, maker, {step.shape.scores(), of_head, of_head, of_head, of_head});
    std::vector<Placed> reads = parts;
    reads.push_back(step.mask);
    with_float_type(step.shape.type, [&]<typename T>() {
        lower.add_step(maker.implementation(), reads, {y, step.statistics}, [=](const StepContext& context) {
            for_each_head(step.shape, [&](int thread, std::int64_t sample, std::int64_t head) {
                return attend<T>(step, products, room, step.tile(context, sample, head),
                                 {thread, sample, head * step.shape.features}, step.log_sums(sample, head));
            });
        });
    });
}

/// Gradients of keys and values are sums over the tiles of queries.
struct BackwardProducts {
    TileProduct of_features, of_keys;
    TileProduct of_queries;                        // of the first tile
    std::optional<TileProduct> adding_of_queries;  // of the others
};

struct AttentionGradientStep {
    AttentionStep common;
    Tokens dy;
    Parts gradients;
};

enum BackwardArray : std::uint8_t {
    backward_scores,
    backward_dp,
    backward_dots,
    backward_q,
    backward_k,
    backward_v,
    backward_dy,
    backward_dq,
    backward_dk,
    backward_dv
};

std::vector<std::int64_t> backward_arrays(const AttentionShape& shape) {
    std::vector<std::int64_t> floats(backward_dv + 1, shape.tokens * shape.features);
    floats[backward_scores] = shape.scores();
    floats[backward_dp] = shape.scores();
    floats[backward_dots] = shape.queries;
    return floats;
}

/// One head of one sample in backward.
template <typename T> struct HeadGradient {
    const AttentionGradientStep& step;
    const BackwardProducts& products;
    const HeadRoom& room;
    AttentionTile tile;
    Head head;
    const float* log_sums;

    T* values(BackwardArray array) const { return room.array<T>(head.thread, array); }
    float* floats(BackwardArray array) const { return room.array<float>(head.thread, array); }
    dnnl_status_t run(const TileProduct& product, const T* a, const T* b, float* c) const {
        return product.run(head.thread, a, b, c, room.products(head.thread));
    }

    /// p and ds of a tile, in the place of its scores and dp.
    dnnl_status_t score_gradients(std::int64_t query) const {
        const AttentionShape& shape = step.common.shape;
        const T* const dy = values(backward_dy) + query * shape.features;
        dnnl_status_t status = run(products.of_features, values(backward_q) + query * shape.features,
                                   values(backward_k), floats(backward_scores));
        if (status != dnnl_success) return status;
        status = run(products.of_features, dy, values(backward_v), floats(backward_dp));
        if (status != dnnl_success) return status;
        const Tokens& y = step.common.y;
        row_dots<T>(shape.queries, shape.features, {dy, shape.features},
                    {y.at<T>(head.sample, head.first_feature) + query * y.token, y.token}, floats(backward_dots));
        attention_score_gradients<T>(tile, {.scores = floats(backward_scores),
                                            .dp = floats(backward_dp),
                                            .log_sums = log_sums + query,
                                            .dots = floats(backward_dots),
                                            .p = values(backward_scores),
                                            .ds = values(backward_dp)});
        return dnnl_success;
    }

    dnnl_status_t add_tile(std::int64_t query) const {
        const std::int64_t first = query * step.common.shape.features;
        const TileProduct& of_queries = query == 0 ? products.of_queries : *products.adding_of_queries;
        dnnl_status_t status = score_gradients(query);
        if (status != dnnl_success) return status;
        status = run(products.of_keys, values(backward_dp), values(backward_k), floats(backward_dq) + first);
        if (status != dnnl_success) return status;
        status = run(of_queries, values(backward_dp), values(backward_q) + first, floats(backward_dk));
        if (status != dnnl_success) return status;
        return run(of_queries, values(backward_scores), values(backward_dy) + first, floats(backward_dv));
    }

    void store(const Tokens& to, BackwardArray from) const {
        store_rows(step.common.shape.tokens, step.common.shape.features, floats(from), to.token,
                   to.at<T>(head.sample, head.first_feature));
    }

    dnnl_status_t run_all() {
        const AttentionShape& shape = step.common.shape;
        gather_head(shape, step.common.parts.q, head, values(backward_q));
        gather_head(shape, step.common.parts.k, head, values(backward_k));
        gather_head(shape, step.common.parts.v, head, values(backward_v));
        gather_head(shape, step.dy, head, values(backward_dy));
        for (std::int64_t query = 0; query < shape.tokens; query += shape.queries) {
            const dnnl_status_t status = add_tile(query);
            if (status != dnnl_success) return status;
            tile.first_word += static_cast<std::uint32_t>(shape.scores());
        }
        store(step.gradients.q, backward_dq);
        store(step.gradients.k, backward_dk);
        store(step.gradients.v, backward_dv);
        return dnnl_success;
    }
};

void lower_attention_grad(Lowering& lower) {
    const bool packed = lower.node().inputs.size() == 5;
    const auto& inputs = lower.node().inputs;
    const std::size_t behind_mask = packed ? 2 : 4;
    const std::vector<Placed> parts = read_parts(lower, packed);
    AttentionGradientStep step{common_step(lower, parts, packed), {}, {}};
    const Placed y = token_rows(lower, inputs[behind_mask]);
    const Placed dy = token_rows(lower, inputs[behind_mask + 2]);
    step.common.y = tokens_of(y);
    step.dy = tokens_of(dy);
    step.common.statistics = lower.operand(inputs[behind_mask + 1]);
    std::vector<Placed> results;
    for (const ValueId result : lower.node().outputs)
        results.push_back(lower.define(result, row_major(lower.graph().desc(result))));
    const AttentionShape& shape = step.common.shape;
    step.gradients = parts_of(results, shape.heads * shape.features);
    ProductMaker maker(lower, shape);
    BackwardProducts products{maker.of_features(), maker.of_keys(), maker.of_queries(false), {}};
    if (shape.tiles() > 1) products.adding_of_queries = maker.of_queries(true);
    const HeadRoom room(lower, maker, backward_arrays(shape));
    std::vector<Placed> reads = parts;
    reads.insert(reads.end(), {step.common.mask, y, step.common.statistics, dy});
    with_float_type(shape.type, [&]<typename T>() {
        lower.add_step(maker.implementation(), reads, results, [=](const StepContext& context) {
            for_each_head(step.common.shape, [&](int thread, std::int64_t sample, std::int64_t head) {
                const AttentionTile tile = step.common.tile(context, sample, head);
                const Head at{thread, sample, head * step.common.shape.features};
                return HeadGradient<T>{step, products, room, tile, at, step.common.log_sums(sample, head)}.run_all();
            });
        });
    });
}

constexpr LoweringEntry kLowerings[] = {
    {graph::OpKind::attention_mask, lower_attention_mask},
    {graph::OpKind::attention, lower_attention},
    {graph::OpKind::attention_grad, lower_attention_grad},
};

}  // namespace

std::span<const LoweringEntry> attention_lowerings() {
    return kLowerings;
}

}  // namespace cnntrain::cpu
