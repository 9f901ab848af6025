// Attention, one head at a time: products by oneDNN on the core that works on the head, softmax in between by own
// kernels. Scores exist for one tile of queries at a time, in the core's second-level cache. Backward computes them
// again.
#include <omp.h>

#include <array>
#include <atomic>
#include <optional>

#include "backend/cpu/kernels/parallel.h"
#include "backend/cpu/kernels/tokens.h"
#include "backend/cpu/lower/attention_products.h"
#include "backend/cpu/lower/node_context.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {

using graph::AttentionAttrs;
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

/// A head of a sample.
struct Head {
    std::int64_t sample = 0;
    std::int64_t number = 0;
    std::int64_t first_feature = 0;
};

/// Tokens of all samples with the features of all heads, as they lie in memory.
struct Tokens {
    Placed tensor;
    std::int64_t first = 0;   // of the first token, in elements
    std::int64_t sample = 0;  // from one sample to the next
    std::int64_t token = 0;   // from one token to the next

    /// The head's features of its first token.
    template <typename T> T* at(const Head& head) const {
        return tensor.as<T>() + first + head.sample * sample + head.first_feature;
    }
    template <typename T> StridedRows<T> rows(const Head& head) const { return {at<T>(head), token}; }
};

Tokens tokens_of(const Placed& tensor, std::int64_t first = 0) {
    const Dims strides = strides_of(tensor.desc);
    return {tensor, first, strides.at(0), strides.at(1)};
}

/// A value whose features lie next to each other.
Placed token_rows(const NodeContext& lower, ValueId value) {
    const Placed tensor = lower.values.strided(value);
    return strides_of(tensor.desc).at(2) == 1 ? tensor : lower.values.in_order(value);
}

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

std::vector<Placed> read_parts(const NodeContext& lower, bool packed) {
    std::vector<Placed> tensors;
    for (std::size_t i = 0; i < (packed ? 1 : 3); ++i)
        tensors.push_back(token_rows(lower, lower.node.inputs[i]));
    return tensors;
}

/// What forward and backward have in common.
struct AttentionStep {
    AttentionShape shape;
    AttentionAttrs attrs;
    std::uint64_t seed = 0;
    Parts parts;
    Placed mask, statistics;
    Tokens y;

    /// Statistics of the head's queries.
    float* log_sums(const Head& head) const {
        return statistics.as<float>() + (head.sample * shape.heads + head.number) * shape.tokens;
    }
    AttentionTile tile(const StepContext& context, const Head& head) const {
        AttentionTile tile;
        tile.queries = shape.queries;
        tile.keys = shape.tokens;
        tile.mask = mask.as<float>() + head.sample * shape.tokens;
        tile.scale = static_cast<float>(attrs.scale);
        tile.drops = attrs.keep < 1;
        if (!tile.drops) return tile;
        tile.key = word_key(seed, RngStream::random_scale, attrs.site,
                            static_cast<std::uint64_t>(context.first_sample + head.sample));
        tile.first_word = static_cast<std::uint32_t>(head.number * shape.tokens * shape.tokens);
        tile.last_kept = last_word_within(attrs.keep);
        tile.factor = static_cast<float>(1 / attrs.keep);
        return tile;
    }
};

/// A thread's current and next head.
struct HeadTask {
    int thread = 0;
    Head head;
    std::optional<Head> next;
};

/// Runs work(HeadTask) -> dnnl_status_t for every head. A thread takes them in the order of memory.
template <typename Work> void for_each_head(const AttentionShape& shape, const Work& work) {
    const std::int64_t heads = shape.samples * shape.heads;
    const auto numbered = [&](std::int64_t task) {
        const std::int64_t number = task % shape.heads;
        return Head{task / shape.heads, number, number * shape.features};
    };
    std::atomic<dnnl_status_t> failure = dnnl_success;
    parallel_tasks(heads, [&](std::int64_t task) {
        HeadTask head{omp_get_thread_num(), numbered(task), {}};
        if (task + 1 < heads) head.next = numbered(task + 1);
        const dnnl_status_t status = work(head);
        if (status != dnnl_success) failure = status;
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

AttentionStep common_step(const NodeContext& lower, const std::vector<Placed>& parts, bool packed) {
    const TensorDesc& first = lower.graph.desc(lower.node.inputs[0]);
    AttentionStep step;
    step.attrs = lower.node.as<AttentionAttrs>();
    step.seed = lower.request.runtime.seed;
    step.mask = lower.values.operand(lower.node.inputs[packed ? 1 : 3]);
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

/// Copies the head's rows next to each other.
template <typename T> void gather_head(const AttentionShape& shape, const Tokens& tokens, const Head& head, T* to) {
    copy_rows(shape.tokens, shape.features, tokens.rows<T>(head), to, shape.features);
}

/// Copies the head's results, from its token `query` on, out among those of other heads.
template <typename T> void scatter_head(const AttentionShape& shape, const T* from, const Tokens& tokens,
                                        const Head& head, std::int64_t query, std::int64_t rows) {
    copy_rows(rows, shape.features, {from, shape.features}, tokens.at<T>(head) + query * tokens.token, tokens.token);
}

struct ForwardProducts {
    HeadProduct scores, y;
};

enum ForwardArray : std::uint8_t { forward_scores, forward_q, forward_k, forward_v, forward_y };

template <typename T> dnnl_status_t attend(const AttentionStep& step, const ForwardProducts& products,
                                           const HeadMemory& memory, AttentionTile tile, const HeadTask& task) {
    const AttentionShape& shape = step.shape;
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
    for (; tile.first_query < shape.tokens; tile.first_query += shape.queries) {
        const std::int64_t query = tile.first_query;
        dnnl_status_t status =
            products.scores.run(task.thread, q + query * shape.features, k, scores, memory.products());
        if (status != dnnl_success) return status;
        attention_probabilities(tile, scores, p, log_sums + query);
        status = products.y.run(task.thread, p, v, y, memory.products());
        if (status != dnnl_success) return status;
        scatter_head(shape, y, step.y, task.head, query, shape.queries);
    }
    return dnnl_success;
}

void lower_attention(const NodeContext& lower) {
    const bool packed = lower.node.inputs.size() == 2;
    const auto& outputs = lower.node.outputs;
    const std::vector<Placed> parts = read_parts(lower, packed);
    AttentionStep step = common_step(lower, parts, packed);
    const Placed y = lower.values.define(outputs[0], row_major(lower.graph.desc(outputs[0])));
    step.y = tokens_of(y);
    step.statistics = lower.values.define(outputs[1], row_major(lower.graph.desc(outputs[1])));
    ProductMaker maker(lower, step.shape);
    const ForwardProducts products{maker.of_features(), maker.of_keys()};
    const std::int64_t of_head = step.shape.tokens * step.shape.features;
    const HeadRoom room(lower, maker, {step.shape.scores(), of_head, of_head, of_head, of_head});
    std::vector<Placed> reads = parts;
    reads.push_back(step.mask);
    with_float_type(step.shape.type, [&]<typename T>() {
        lower.steps.add(maker.implementation(), reads, {y, step.statistics}, [=](const StepContext& context) {
            for_each_head(step.shape, [&](const HeadTask& task) {
                return attend<T>(step, products, room.of(task.thread), step.tile(context, task.head), task);
            });
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
        const AttentionShape& shape = step.common.shape;
        const std::int64_t query = tile.first_query;
        const T* const dy = values(backward_dy) + query * shape.features;
        dnnl_status_t status = run(products.of_features, values(backward_q) + query * shape.features,
                                   values(backward_k), floats(backward_scores));
        if (status != dnnl_success) return status;
        status = run(products.of_features, dy, values(backward_v), floats(backward_dp));
        if (status != dnnl_success) return status;
        const Tokens& y = step.common.y;
        row_dots<T>(shape.queries, shape.features, {dy, shape.features},
                    {y.at<T>(task.head) + query * y.token, y.token}, floats(backward_dots));
        attention_score_gradients<T>(tile, {.scores = floats(backward_scores),
                                            .dp = floats(backward_dp),
                                            .log_sums = log_sums + query,
                                            .dots = floats(backward_dots),
                                            .p = values(backward_scores),
                                            .ds = values(backward_dp)});
        return dnnl_success;
    }

    dnnl_status_t add_tile() const {
        const std::int64_t first = tile.first_query * step.common.shape.features;
        const HeadProduct& of_queries = tile.first_query == 0 ? products.of_queries : *products.adding_of_queries;
        dnnl_status_t status = score_gradients();
        if (status != dnnl_success) return status;
        status = run(products.of_keys, values(backward_dp), values(backward_k), values(backward_dq) + first);
        if (status != dnnl_success) return status;
        status = run(of_queries, values(backward_dp), values(backward_q) + first, floats(backward_dk));
        if (status != dnnl_success) return status;
        return run(of_queries, values(backward_scores), values(backward_dy) + first, floats(backward_dv));
    }

    void gather(const Tokens& from, BackwardArray to) const {
        gather_head(step.common.shape, from, task.head, values(to));
    }
    void scatter(BackwardArray from, const Tokens& to) const {
        scatter_head(step.common.shape, values(from), to, task.head, 0, step.common.shape.tokens);
    }
    /// The sum over the tiles.
    void store(BackwardArray from, const Tokens& to) const {
        const AttentionShape& shape = step.common.shape;
        if (shape.tiles() == 1) return scatter(from, to);
        store_rows(shape.tokens, shape.features, floats(from), to.token, to.at<T>(task.head));
    }

    /// The gradients, which are written last, and what the next head reads.
    Ahead rows_ahead() const {
        const AttentionStep& common = step.common;
        Ahead ahead;
        for (const Tokens* part : {&step.gradients.q, &step.gradients.k, &step.gradients.v})
            ahead.add<T>(common.shape, *part, task.head);
        // The room of a larger head and what the next one reads would displace each other from the second-level cache.
        constexpr std::int64_t kLargestBytes = 1 << 16;
        const std::int64_t bytes = common.shape.tokens * common.shape.features * static_cast<std::int64_t>(sizeof(T));
        if (!task.next || bytes > kLargestBytes) return ahead;
        for (const Tokens* part : {&common.parts.q, &common.parts.k, &common.parts.v, &step.dy, &common.y})
            ahead.add<T>(common.shape, *part, *task.next);
        return ahead;
    }

    dnnl_status_t run_all() {
        const Ahead ahead = rows_ahead();
        tile.ahead = ahead.rows();
        gather(step.common.parts.q, backward_q);
        gather(step.common.parts.k, backward_k);
        gather(step.common.parts.v, backward_v);
        gather(step.dy, backward_dy);
        for (; tile.first_query < step.common.shape.tokens; tile.first_query += tile.queries) {
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
        results.push_back(lower.values.define(result, row_major(lower.graph.desc(result))));
    const AttentionShape& shape = step.common.shape;
    step.gradients = parts_of(results, shape.heads * shape.features);
    ProductMaker maker(lower, shape);
    const bool adds = shape.tiles() > 1;
    BackwardProducts products{
        maker.of_features(), maker.of_keys(), maker.of_queries(adds ? DType::f32 : shape.type, false), {}};
    if (adds) products.adding_of_queries = maker.of_queries(DType::f32, true);
    const HeadRoom room(lower, maker, backward_arrays(shape));
    std::vector<Placed> reads = parts;
    reads.insert(reads.end(), {step.common.mask, y, step.common.statistics, dy});
    with_float_type(shape.type, [&]<typename T>() {
        lower.steps.add(maker.implementation(), reads, results, [=](const StepContext& context) {
            for_each_head(step.common.shape, [&](const HeadTask& task) {
                const AttentionTile tile = step.common.tile(context, task.head);
                const HeadMemory memory = room.of(task.thread);
                return HeadGradient<T>{step, products, memory, tile, task, step.common.log_sums(task.head)}.run_all();
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
