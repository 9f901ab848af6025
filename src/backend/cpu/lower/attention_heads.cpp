#include "backend/cpu/lower/attention_heads.h"

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

}  // namespace cnntrain::cpu
