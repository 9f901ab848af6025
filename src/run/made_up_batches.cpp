#include "cnntrain/run/compile_request.h"

#include <algorithm>
#include <cmath>

#include "cnntrain/base/rng.h"
#include "cnntrain/graph/op.h"

namespace cnntrain::run {
namespace {

/// The integers of an input are in [least, end).
struct Range {
    std::int64_t least = 0;
    std::int64_t end = 1;
};

Range range_of(const graph::Graph& graph, graph::ValueId input) {
    for (const graph::NodeId user : graph.value(input).users) {
        const graph::Node& node = graph.node(user);
        if (node.kind == graph::OpKind::embedding) return {0, graph.desc(node.inputs[1]).shape[0]};
        if (node.kind == graph::OpKind::gather_rows) return {0, graph.desc(node.inputs[0]).shape[1]};
        if (node.kind == graph::OpKind::attention_mask) {
            // A mask of 0 and 1, or a number of visible tokens.
            const std::int64_t visible = std::max<std::int64_t>(1, node.as<graph::AttentionMaskAttrs>().sequence);
            return {visible, visible + 1};
        }
    }
    return {};
}

HostTensor made_up(const TensorDesc& desc, const Range& range) {
    constexpr double kBytes = 256;
    const bool whole = desc.dtype == DType::i32 || desc.dtype == DType::i64;
    HostTensor tensor(desc);
    Rng rng(1, RngStream::synthetic_data);
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        double value = rng.uniform();
        if (desc.dtype == DType::u8) value = std::floor(kBytes * value);
        if (whole)
            value = std::floor(static_cast<double>(range.least) + static_cast<double>(range.end - range.least) * value);
        tensor.set(i, value);
    }
    return tensor;
}

}  // namespace

MadeUpBatches::MadeUpBatches(const graph::Graph& graph) {
    for (const graph::ValueId id : graph.values_with_role(graph::Role::input)) {
        const graph::Value& input = graph.value(id);
        fields_.push_back({input.name, input.desc});
        tensors_.push_back(made_up(input.desc, range_of(graph, id)));
        samples_ = std::max(samples_, input.desc.shape.empty() ? 1 : input.desc.shape.front());
    }
    for (const HostTensor& tensor : tensors_)
        spans_.push_back(tensor.bytes());
}

data::Batch MadeUpBatches::next() {
    data::Batch batch;
    batch.fields = spans_;
    batch.valid_count = samples_;
    batch.first_sample = samples_ * pulls_++;
    return batch;
}

}  // namespace cnntrain::run
