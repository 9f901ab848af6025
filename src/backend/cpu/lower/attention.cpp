// Attention, one head at a time: products by oneDNN on the core that works on the head, softmax in between by own
// kernels. Scores exist for one tile of queries at a time, in the core's second-level cache. Backward computes them
// again. Where tokens have numbers, each sequence of a row is computed by itself, at a length with products of its own.
#include <algorithm>
#include <optional>

#include "backend/cpu/kernels/tokens.h"
#include "backend/cpu/lower/attention_heads.h"
#include "backend/cpu/lower/node_context.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {

using graph::ValueId;

namespace {

void lower_attention_mask(const NodeContext& lower) {
    const auto& attrs = lower.node.as<graph::AttentionMaskAttrs>();
    const auto& inputs = lower.node.inputs;
    const ValueId output = lower.node.outputs[0];
    const TensorDesc& desc = lower.graph.desc(output);
    const Placed first = lower.values.operand(inputs[0]);
    const Placed mask = lower.values.define(output, row_major(desc));
    if (attrs.sequence == 0) {
        lower.steps.add("kernel", {first}, {mask}, [=, count = desc.elements()](const StepContext&) {
            attention_mask(count, first.as<std::int32_t>(), mask.as<float>());
        });
        return;
    }
    const Placed lengths = lower.values.operand(inputs[1]);
    const LengthMask shape{desc.shape[0], desc.shape[1], attrs.predictions};
    lower.steps.add("kernel", {first, lengths}, {mask}, [=](const StepContext&) {
        attention_mask(shape, first.as<std::int32_t>(), lengths.as<std::int32_t>(), mask.as<float>());
    });
}

struct ForwardProducts {
    HeadProduct scores, y;
};

enum ForwardArray : std::uint8_t { forward_scores, forward_q, forward_k, forward_v, forward_y };

template <typename T> dnnl_status_t attend(const AttentionStep& step, const OfLength<ForwardProducts>& length,
                                           const HeadMemory& memory, AttentionTile tile, const HeadTask& task) {
    const AttentionShape& shape = length.shape;
    const ForwardProducts& products = length.products;
    Ahead ahead;
    ahead.add<T>(shape, step.y, task.head);
    if (task.next) {
        for (const Tokens* part : {&step.parts.q, &step.parts.k, &step.parts.v})
            ahead.add<T>(shape, *part, *task.next);
    }
    tile.ahead = ahead.rows();
    T* const q = memory.array<T>(forward_q);
    T* const k = memory.array<T>(forward_k);
    T* const v = memory.array<T>(forward_v);
    gather_head(shape, step.parts.q, task.head, q);
    gather_head(shape, step.parts.k, task.head, k);
    gather_head(shape, step.parts.v, task.head, v);
    float* const scores = memory.array<float>(forward_scores);
    T* const p = memory.array<T>(forward_scores);
    T* const y = memory.array<T>(forward_y);
    float* const log_sums = step.log_sums(task.head);
    for (; tile.first_query < task.head.tokens; tile.first_query += shape.queries) {
        const std::int64_t query = tile.first_query;
        tile.queries = std::min(shape.queries, task.head.tokens - query);
        dnnl_status_t status =
            products.scores.run(task.thread, q + query * shape.features, k, scores, memory.products());
        if (status != dnnl_success) return status;
        attention_probabilities(tile, scores, p, log_sums + query);
        status = products.y.run(task.thread, p, v, y, memory.products());
        if (status != dnnl_success) return status;
        scatter_head(shape, y, step.y, task.head, query, tile.queries);
    }
    return dnnl_success;
}

void lower_attention(const NodeContext& lower) {
    const bool packed = lower.node.inputs.size() == 2;
    const auto& outputs = lower.node.outputs;
    const std::vector<Placed> parts = read_parts(lower, packed);
    AttentionStep step = common_step(lower, parts, packed);
    const Placed y = lower.values.define(outputs[0]);
    step.y = tokens_of(y);
    step.statistics = lower.values.define(outputs[1]);
    ProductMaker maker(lower);
    const auto lengths = of_lengths<ForwardProducts>(step, [&](const AttentionShape& shape) {
        return ForwardProducts{maker.of_features(shape), maker.of_keys(shape)};
    });
    const std::int64_t of_head = step.shape.tokens * step.shape.features;
    const HeadRoom room(lower, maker, {most_scores(lengths), of_head, of_head, of_head, of_head});
    std::vector<Placed> reads = parts;
    reads.push_back(step.mask);
    add_typed(lower, step.shape.type, maker.implementation(), reads, {y, step.statistics},
              [=]<typename T>(const StepContext& context) {
                  for_each_head(step, [&](const HeadTask& task) {
                      const OfLength<ForwardProducts>& length = lengths[step.lengths.index(task.head.tokens)];
                      const AttentionTile tile = step.tile(context, task.head, length.shape.tokens);
                      return attend<T>(step, length, room.of(task.thread), tile, task);
                  });
              });
}

/// Gradients of keys and values are sums over the tiles of queries.
struct BackwardProducts {
    HeadProduct of_features, of_keys;
    HeadProduct of_queries;                        // of the first tile
    std::optional<HeadProduct> adding_of_queries;  // of the others
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

std::vector<std::int64_t> backward_arrays(const AttentionShape& shape, std::int64_t scores) {
    std::vector<std::int64_t> floats(backward_dv + 1, shape.tokens * shape.features);
    floats[backward_scores] = scores;
    floats[backward_dp] = scores;
    floats[backward_dots] = shape.tokens;
    return floats;
}

BackwardProducts backward_products(ProductMaker& maker, const AttentionShape& shape) {
    const bool adds = shape.tiles() > 1;
    BackwardProducts products{maker.of_features(shape),
                              maker.of_keys(shape),
                              maker.of_queries(shape, adds ? DType::f32 : shape.type, false),
                              {}};
    if (adds) products.adding_of_queries = maker.of_queries(shape, DType::f32, true);
    return products;
}

/// One head of one sequence in backward.
template <typename T> struct HeadGradient {
    const AttentionGradientStep& step;
    const AttentionShape& shape;  // of the length
    const BackwardProducts& products;
    HeadMemory memory;
    AttentionTile tile;
    HeadTask task;
    const float* log_sums;

    T* values(BackwardArray array) const { return memory.array<T>(array); }
    float* floats(BackwardArray array) const { return memory.array<float>(array); }
    dnnl_status_t run(const HeadProduct& product, const T* a, const T* b, void* c) const {
        return product.run(task.thread, a, b, c, memory.products());
    }

    /// p and ds of the tile, in the place of its scores and dp.
    dnnl_status_t score_gradients() const {
        const std::int64_t query = tile.first_query;
        const T* const dy = values(backward_dy) + query * shape.features;
        dnnl_status_t status = run(products.of_features, values(backward_q) + query * shape.features,
                                   values(backward_k), floats(backward_scores));
        if (status != dnnl_success) return status;
        status = run(products.of_features, dy, values(backward_v), floats(backward_dp));
        if (status != dnnl_success) return status;
        const Tokens& y = step.common.y;
        row_dots<T>(tile.queries, shape.features, {dy, shape.features}, {y.at<T>(task.head) + query * y.token, y.token},
                    floats(backward_dots));
        attention_score_gradients<T>(tile, {.scores = floats(backward_scores),
                                            .dp = floats(backward_dp),
                                            .log_sums = log_sums + query,
                                            .dots = floats(backward_dots),
                                            .p = values(backward_scores),
                                            .ds = values(backward_dp)});
        for (const BackwardArray rows : {backward_scores, backward_dp})
            std::fill(values(rows) + tile.queries * shape.tokens, values(rows) + shape.scores(), T{});
        return dnnl_success;
    }

    dnnl_status_t add_tile() const {
        const std::int64_t first = tile.first_query * shape.features;
        const HeadProduct& of_queries = tile.first_query == 0 ? products.of_queries : *products.adding_of_queries;
        dnnl_status_t status = score_gradients();
        if (status != dnnl_success) return status;
        status = run(products.of_keys, values(backward_dp), values(backward_k), values(backward_dq) + first);
        if (status != dnnl_success) return status;
        status = run(of_queries, values(backward_dp), values(backward_q) + first, floats(backward_dk));
        if (status != dnnl_success) return status;
        return run(of_queries, values(backward_scores), values(backward_dy) + first, floats(backward_dv));
    }

    void gather(const Tokens& from, BackwardArray to) const { gather_head(shape, from, task.head, values(to)); }
    void scatter(BackwardArray from, const Tokens& to) const {
        scatter_head(shape, values(from), to, task.head, 0, task.head.tokens);
    }
    /// The sum over the tiles.
    void store(BackwardArray from, const Tokens& to) const {
        if (shape.tiles() == 1) return scatter(from, to);
        store_rows(task.head.tokens, shape.features, floats(from), to.token, to.at<T>(task.head));
    }

    /// The gradients, which are written last, and what the next head reads.
    Ahead rows_ahead() const {
        const AttentionStep& common = step.common;
        Ahead ahead;
        for (const Tokens* part : {&step.gradients.q, &step.gradients.k, &step.gradients.v})
            ahead.add<T>(shape, *part, task.head);
        // The room of a larger head and what the next one reads would displace each other from the second-level cache.
        constexpr std::int64_t kLargestBytes = 1 << 16;
        const std::int64_t bytes = shape.tokens * shape.features * static_cast<std::int64_t>(sizeof(T));
        if (!task.next || bytes > kLargestBytes) return ahead;
        for (const Tokens* part : {&common.parts.q, &common.parts.k, &common.parts.v, &step.dy, &common.y})
            ahead.add<T>(shape, *part, *task.next);
        return ahead;
    }

    dnnl_status_t run_all() {
        const Ahead ahead = rows_ahead();
        tile.ahead = ahead.rows();
        gather(step.common.parts.q, backward_q);
        gather(step.common.parts.k, backward_k);
        gather(step.common.parts.v, backward_v);
        gather(step.dy, backward_dy);
        for (; tile.first_query < task.head.tokens; tile.first_query += shape.queries) {
            tile.queries = std::min(shape.queries, task.head.tokens - tile.first_query);
            const dnnl_status_t status = add_tile();
            if (status != dnnl_success) return status;
        }
        scatter(backward_dq, step.gradients.q);
        store(backward_dk, step.gradients.k);
        store(backward_dv, step.gradients.v);
        return dnnl_success;
    }
};

void lower_attention_grad(const NodeContext& lower) {
    const bool packed = lower.node.inputs.size() == 5;
    const auto& inputs = lower.node.inputs;
    const std::size_t behind_mask = packed ? 2 : 4;
    const std::vector<Placed> parts = read_parts(lower, packed);
    AttentionGradientStep step{common_step(lower, parts, packed), {}, {}};
    const Placed y = token_rows(lower, inputs[behind_mask]);
    const Placed dy = token_rows(lower, inputs[behind_mask + 2]);
    step.common.y = tokens_of(y);
    step.dy = tokens_of(dy);
    step.common.statistics = lower.values.operand(inputs[behind_mask + 1]);
    std::vector<Placed> results;
    for (const ValueId result : lower.node.outputs)
        results.push_back(lower.values.define(result));
    const AttentionShape& row = step.common.shape;
    step.gradients = parts_of(results, row.heads * row.features);
    ProductMaker maker(lower);
    const auto lengths = of_lengths<BackwardProducts>(
        step.common, [&](const AttentionShape& shape) { return backward_products(maker, shape); });
    const HeadRoom room(lower, maker, backward_arrays(row, most_scores(lengths)));
    std::vector<Placed> reads = parts;
    reads.insert(reads.end(), {step.common.mask, y, step.common.statistics, dy});
    add_typed(lower, row.type, maker.implementation(), reads, results, [=]<typename T>(const StepContext& context) {
        for_each_head(step.common, [&](const HeadTask& task) {
            const auto& [shape, products] = lengths[step.common.lengths.index(task.head.tokens)];
            const AttentionTile tile = step.common.tile(context, task.head, shape.tokens);
            return HeadGradient<T>{
                step, shape, products, room.of(task.thread), tile, task, step.common.log_sums(task.head)}
                .run_all();
        });
    });
}

}  // namespace

std::span<const LoweringEntry> attention_lowerings() {
    static constexpr LoweringEntry kLowerings[] = {
        {graph::OpKind::attention_mask, lower_attention_mask},
        {graph::OpKind::attention, lower_attention, kPrimitive},
        {graph::OpKind::attention_grad, lower_attention_grad, kPrimitive},
    };
    return kLowerings;
}

}  // namespace cnntrain::cpu
