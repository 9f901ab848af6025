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

Desc strided_matrix(std::int64_t rows, std::int64_t columns, std::int64_t row, std::int64_t column, DType type) {
    return Desc({rows, columns}, to_dnnl(type), Dims{row, column});
}

/// Makes products for one thread, and counts what they need besides their operands.
class ProductMaker {
public:
    ProductMaker(const Lowering& lower, const AttentionShape& shape)
        : onednn_(lower.onednn()), shape_(shape), threads_(omp_get_max_threads()) {}

    /// a[queries,features] * b[tokens,features]^T -> f32[queries,tokens]
    TileProduct of_features(const Tokens& a, const Tokens& b) {
        const Desc left = strided_matrix(shape_.queries, shape_.features, a.token, 1, shape_.type);
        const Desc right = strided_matrix(shape_.features, shape_.tokens, 1, b.token, shape_.type);
        return make(left, right, strided_matrix(shape_.queries, shape_.tokens, shape_.tokens, 1, DType::f32), false);
    }
    /// a[queries,tokens] * b[tokens,features] -> c[queries,features]
    TileProduct of_keys(const Tokens& b, const Tokens& c) {
        const Desc left = strided_matrix(shape_.queries, shape_.tokens, shape_.tokens, 1, shape_.type);
        const Desc right = strided_matrix(shape_.tokens, shape_.features, b.token, 1, shape_.type);
        return make(left, right, strided_matrix(shape_.queries, shape_.features, c.token, 1, shape_.type), false);
    }
    /// a[queries,tokens]^T * b[queries,features] -> c[tokens,features]
    TileProduct of_queries(const Tokens& b, std::int64_t c_row, DType c_type, bool accumulates) {
        const Desc left = strided_matrix(shape_.tokens, shape_.queries, 1, shape_.tokens, shape_.type);
        const Desc right = strided_matrix(shape_.queries, shape_.features, b.token, 1, shape_.type);
        return make(left, right, strided_matrix(shape_.tokens, shape_.features, c_row, 1, c_type), accumulates);
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

/// Room of each thread while it works on a head: arrays of floats, and what the products need.
class HeadRoom {
public:
    HeadRoom(Lowering& lower, const ProductMaker& maker, std::vector<std::int64_t> floats)
        : floats_(std::move(floats)) {
        constexpr std::int64_t kLineFloats = 16;
        for (std::int64_t& count : floats_) {
            count = (count + kLineFloats - 1) / kLineFloats * kLineFloats;
            per_thread_ += count;
        }
        const auto for_products = static_cast<std::int64_t>(maker.scratch_bytes() / sizeof(float)) + kLineFloats;
        products_ = per_thread_;
        per_thread_ += for_products / kLineFloats * kLineFloats + kLineFloats;
        scratch_ = lower.scratch_floats(per_thread_ * maker.threads());
    }

    float* array(int thread, std::size_t index) const {
        float* start = of(thread);
        for (std::size_t i = 0; i < index; ++i)
            start += floats_[i];
        return start;
    }
    void* products(int thread) const { return of(thread) + products_; }

private:
    float* of(int thread) const { return scratch_().data() + thread * per_thread_; }

    std::vector<std::int64_t> floats_;
    std::int64_t per_thread_ = 0;
    std::int64_t products_ = 0;
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

struct ForwardProducts {
    TileProduct scores, y;
};

template <typename T> dnnl_status_t attend(const AttentionStep& step, const ForwardProducts& products,
                                           const HeadRoom& room, AttentionTile tile, int thread, std::int64_t sample,
                                           std::int64_t head) {
    const AttentionShape& shape = step.shape;
    const std::int64_t feature = head * shape.features;
    float* const scores = room.array(thread, 0);
    T* const p = reinterpret_cast<T*>(scores);
    for (std::int64_t query = 0; query < shape.tokens; query += shape.queries) {
        dnnl_status_t status =
            products.scores.run(thread, step.parts.q.at<T>(sample, feature) + query * step.parts.q.token,
                                step.parts.k.at<T>(sample, feature), scores, room.products(thread));
        if (status != dnnl_success) return status;
        attention_probabilities(tile, scores, p, step.log_sums(sample, head) + query);
        status = products.y.run(thread, p, step.parts.v.at<T>(sample, feature),
                                step.y.at<T>(sample, feature) + query * step.y.token, room.products(thread));
        if (status != dnnl_success) return status;
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
    const ForwardProducts products{maker.of_features(step.parts.q, step.parts.k), maker.of_keys(step.parts.v, step.y)};
    const HeadRoom room(lower, maker, {step.shape.scores()});
    std::vector<Placed> reads = parts;
    reads.push_back(step.mask);
    with_float_type(step.shape.type, [&]<typename T>() {
        lower.add_step(maker.implementation(), reads, {y, step.statistics}, [=](const StepContext& context) {
            for_each_head(step.shape, [&](int thread, std::int64_t sample, std::int64_t head) {
                return attend<T>(step, products, room, step.tile(context, sample, head), thread, sample, head);
            });
        });
    });
}

/// Gradients of keys and values are sums over the tiles of queries: with several tiles, of floats in a thread's room.
struct BackwardProducts {
    TileProduct scores, dp, dq;
    TileProduct dk, dv;                           // of the first tile
    std::optional<TileProduct> dk_more, dv_more;  // of the others
};

struct AttentionGradientStep {
    AttentionStep common;
    Tokens dy;
    Parts gradients;
};

enum Array : std::uint8_t { scores_array, dp_array, dots_array, dk_array, dv_array };

BackwardProducts backward_products(ProductMaker& maker, const AttentionGradientStep& step) {
    const AttentionShape& shape = step.common.shape;
    const Parts& parts = step.common.parts;
    const bool sums = shape.tiles() > 1;
    const DType type = sums ? DType::f32 : shape.type;
    const std::int64_t dk_row = sums ? shape.features : step.gradients.k.token;
    const std::int64_t dv_row = sums ? shape.features : step.gradients.v.token;
    BackwardProducts products{maker.of_features(parts.q, parts.k),
                              maker.of_features(step.dy, parts.v),
                              maker.of_keys(parts.k, step.gradients.q),
                              maker.of_queries(parts.q, dk_row, type, false),
                              maker.of_queries(step.dy, dv_row, type, false),
                              {},
                              {}};
    if (!sums) return products;
    products.dk_more = maker.of_queries(parts.q, dk_row, type, true);
    products.dv_more = maker.of_queries(step.dy, dv_row, type, true);
    return products;
}

/// One head of one sample in backward.
template <typename T> struct HeadGradient {
    const AttentionGradientStep& step;
    const BackwardProducts& products;
    const HeadRoom& room;
    AttentionTile tile;
    int thread;
    std::int64_t sample, head;

    T* at(const Tokens& tokens, std::int64_t query) const {
        return tokens.at<T>(sample, head * step.common.shape.features) + query * tokens.token;
    }
    dnnl_status_t run(const TileProduct& product, const void* a, const void* b, void* c) const {
        return product.run(thread, a, b, c, room.products(thread));
    }

    /// p and ds of a tile, in the place of its scores and dp.
    dnnl_status_t score_gradients(std::int64_t query) const {
        const AttentionStep& common = step.common;
        float* const scores = room.array(thread, scores_array);
        float* const dp = room.array(thread, dp_array);
        float* const dots = room.array(thread, dots_array);
        dnnl_status_t status = run(products.scores, at(common.parts.q, query), at(common.parts.k, 0), scores);
        if (status != dnnl_success) return status;
        status = run(products.dp, at(step.dy, query), at(common.parts.v, 0), dp);
        if (status != dnnl_success) return status;
        row_dots<T>(common.shape.queries, common.shape.features, {at(step.dy, query), step.dy.token},
                    {at(common.y, query), common.y.token}, dots);
        attention_score_gradients<T>(tile, {.scores = scores,
                                            .dp = dp,
                                            .log_sums = common.log_sums(sample, head) + query,
                                            .dots = dots,
                                            .p = reinterpret_cast<T*>(scores),
                                            .ds = reinterpret_cast<T*>(dp)});
        return dnnl_success;
    }

    dnnl_status_t add_tile(std::int64_t query) const {
        dnnl_status_t status = score_gradients(query);
        if (status != dnnl_success) return status;
        const Parts& parts = step.common.parts;
        const float* const p = room.array(thread, scores_array);
        const float* const ds = room.array(thread, dp_array);
        status = run(products.dq, ds, at(parts.k, 0), at(step.gradients.q, query));
        if (status != dnnl_success) return status;
        const bool sums = products.dk_more.has_value();
        void* const dk = sums ? room.array(thread, dk_array) : static_cast<void*>(at(step.gradients.k, 0));
        void* const dv = sums ? room.array(thread, dv_array) : static_cast<void*>(at(step.gradients.v, 0));
        status = run(query == 0 ? products.dk : *products.dk_more, ds, at(parts.q, query), dk);
        if (status != dnnl_success) return status;
        return run(query == 0 ? products.dv : *products.dv_more, p, at(step.dy, query), dv);
    }

    dnnl_status_t run_all() {
        const AttentionShape& shape = step.common.shape;
        for (std::int64_t query = 0; query < shape.tokens; query += shape.queries) {
            const dnnl_status_t status = add_tile(query);
            if (status != dnnl_success) return status;
            tile.first_word += static_cast<std::uint32_t>(shape.scores());
        }
        if (!products.dk_more) return dnnl_success;
        const Parts& to = step.gradients;
        store_rows(shape.tokens, shape.features, room.array(thread, dk_array), to.k.token, at(to.k, 0));
        store_rows(shape.tokens, shape.features, room.array(thread, dv_array), to.v.token, at(to.v, 0));
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
    const BackwardProducts products = backward_products(maker, step);
    const std::int64_t sums = shape.tiles() > 1 ? shape.tokens * shape.features : 0;
    const HeadRoom room(lower, maker, {shape.scores(), shape.scores(), shape.queries, sums, sums});
    std::vector<Placed> reads = parts;
    reads.insert(reads.end(), {step.common.mask, y, step.common.statistics, dy});
    with_float_type(shape.type, [&]<typename T>() {
        lower.add_step(maker.implementation(), reads, results, [=](const StepContext& context) {
            for_each_head(step.common.shape, [&](int thread, std::int64_t sample, std::int64_t head) {
                const AttentionTile tile = step.common.tile(context, sample, head);
                return HeadGradient<T>{step, products, room, tile, thread, sample, head}.run_all();
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
