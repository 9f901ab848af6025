#include "backend/cpu/lower/attention_heads.h"

#include <dnnl.h>
#include <omp.h>
#include <algorithm>

#include "backend/cpu/run/lanes.h"

namespace cnntrain::cpu {

using graph::AttentionAttrs;
using graph::ValueId;

Tokens tokens_of(const Placed& tensor, std::int64_t first) {
    const Dims strides = strides_of(tensor.desc);
    return {tensor, first, strides.at(0), strides.at(1)};
}

Placed token_rows(const NodeContext& lower, ValueId value) {
    const Placed tensor = lower.values.strided(value);
    return strides_of(tensor.desc).at(2) == 1 ? tensor : lower.values.in_order(value);
}

std::int64_t queries_of_tile(std::int64_t tokens) {
    constexpr std::int64_t kMostScores = 1 << 16;
    constexpr std::int64_t kLeastQueries = 32;
    for (std::int64_t tiles = 1; tokens / tiles >= kLeastQueries; ++tiles) {
        if (tokens % tiles == 0 && tokens / tiles * tokens <= kMostScores) return tokens / tiles;
    }
    return tokens;
}

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

std::int64_t AttentionStep::tokens_of(const Head& head) const {
    if (!has_numbers) return shape.tokens;
    const std::int32_t* const row = mask.as<std::int32_t>() + head.sample * shape.tokens;
    const std::int32_t* const first = row + head.first_token;
    return std::find_if(first, row + shape.tokens, [&](std::int32_t number) { return number != *first; }) - first;
}

AttentionTile AttentionStep::tile(const StepContext& context, const Head& head, std::int64_t length) const {
    AttentionTile tile;
    tile.keys = length;
    tile.mask =
        has_numbers ? end_of_row.data() + shape.tokens - head.tokens : mask.as<float>() + head.sample * shape.tokens;
    tile.scale = static_cast<float>(attrs.scale);
    tile.drops = attrs.keep < 1;
    if (!tile.drops) return tile;
    tile.key = word_key(seed, RngStream::random_scale, attrs.site,
                        static_cast<std::uint64_t>(context.first_sample + head.sample));
    tile.first_word =
        static_cast<std::uint32_t>((head.number * shape.tokens + head.first_token) * shape.tokens + head.first_token);
    tile.query_words = shape.tokens;
    tile.last_kept = last_word_within(attrs.keep);
    tile.factor = static_cast<float>(1 / attrs.keep);
    return tile;
}

AttentionStep common_step(const NodeContext& lower, const std::vector<Placed>& parts, bool packed) {
    const TensorDesc& first = lower.graph.desc(lower.node.inputs[0]);
    AttentionStep step;
    step.attrs = lower.node.as<AttentionAttrs>();
    step.seed = lower.request.runtime.seed;
    const ValueId mask = lower.node.inputs[packed ? 1 : 3];
    step.mask = lower.values.operand(mask);
    step.has_numbers = lower.graph.desc(mask).dtype == DType::i32;
    const std::int64_t features = first.shape[2] / (packed ? 3 : 1);
    step.parts = parts_of(parts, features);
    step.shape = {.samples = first.shape[0],
                  .tokens = first.shape[1],
                  .heads = step.attrs.heads,
                  .features = features / step.attrs.heads,
                  .queries = queries_of_tile(first.shape[1]),
                  .type = first.dtype};
    step.lengths = Lengths(step.shape.tokens, step.has_numbers);
    if (!step.has_numbers) return step;
    step.end_of_row.assign(static_cast<std::size_t>(step.shape.tokens + step.lengths.unit()),
                           static_cast<float>(graph::kMaskedScore));
    std::fill_n(step.end_of_row.begin(), step.shape.tokens, 0.0F);
    return step;
}

HeadProduct::HeadProduct(const OneDnn& onednn, const Primitive& primitive, int threads)
    : primitive_(primitive.primitive), stream_(onednn.stream()), scratch_bytes_(primitive.scratchpad.get_size()) {
    for (int thread = 0; thread < threads; ++thread) {
        const auto memory = [&](const Desc& desc) { return dnnl::memory(desc, onednn.engine(), DNNL_MEMORY_NONE); };
        Arguments& own = arguments_.emplace_back();
        own.a = memory(primitive.src);
        own.b = memory(primitive.weights);
        own.c = memory(primitive.dst);
        own.list = {{DNNL_ARG_SRC, own.a.get()}, {DNNL_ARG_WEIGHTS, own.b.get()}, {DNNL_ARG_DST, own.c.get()}};
        if (scratch_bytes_ == 0) continue;
        own.scratch = memory(primitive.scratchpad);
        own.list.push_back({DNNL_ARG_SCRATCHPAD, own.scratch.get()});
    }
}

dnnl_status_t HeadProduct::run(int thread, const void* a, const void* b, void* c, void* scratch) const {
    const Arguments& own = arguments_[static_cast<std::size_t>(thread)];
    // oneDNN writes to its result and its scratch memory alone.
    own.a.set_data_handle(const_cast<void*>(a));
    own.b.set_data_handle(const_cast<void*>(b));
    own.c.set_data_handle(c);
    if (scratch_bytes_ > 0) own.scratch.set_data_handle(scratch);
    return dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(own.list.size()), own.list.data());
}

ProductMaker::ProductMaker(const NodeContext& lower) : onednn_(lower.onednn), threads_(omp_get_max_threads()) {}

HeadProduct ProductMaker::of_features(const AttentionShape& shape) {
    return make(matrix_desc(shape.queries, shape.features, shape.type),
                matrix_desc(shape.features, shape.tokens, shape.type, true),
                matrix_desc(shape.queries, shape.tokens, DType::f32), false);
}

HeadProduct ProductMaker::of_keys(const AttentionShape& shape) {
    return make(matrix_desc(shape.queries, shape.tokens, shape.type),
                matrix_desc(shape.tokens, shape.features, shape.type),
                matrix_desc(shape.queries, shape.features, shape.type), false);
}

HeadProduct ProductMaker::of_queries(const AttentionShape& shape, DType result, bool accumulates) {
    return make(matrix_desc(shape.tokens, shape.queries, shape.type, true),
                matrix_desc(shape.queries, shape.features, shape.type),
                matrix_desc(shape.tokens, shape.features, result), accumulates);
}

HeadProduct ProductMaker::make(const Desc& a, const Desc& b, const Desc& c, bool accumulates) {
    const Threads one(1);
    const Primitive primitive = accumulates ? onednn_.accumulating_matmul(a, b, c) : onednn_.matmul(a, b, c, false);
    implementation_ = primitive.implementation;
    scratch_bytes_ = std::max(scratch_bytes_, primitive.scratchpad.get_size());
    return {onednn_, primitive, threads_};
}

HeadRoom::HeadRoom(const NodeContext& lower, const ProductMaker& maker, const std::vector<std::int64_t>& arrays) {
    for (const std::int64_t floats : arrays)
        add(floats);
    add(static_cast<std::int64_t>(maker.scratch_bytes() / sizeof(float)) + 1);
    scratch_ = lower.steps.scratch_floats(per_thread_ * maker.threads());
}

void HeadRoom::add(std::int64_t floats) {
    constexpr std::int64_t kLine = 16;        // floats of a cache line
    constexpr std::int64_t kGap = 4 * kLine;  // arrays that lie whole pages apart hinder each other's loads
    first_.push_back(per_thread_);
    per_thread_ += (floats + kLine - 1) / kLine * kLine + kGap;
}

}  // namespace cnntrain::cpu
