// Dropout and drop-connect.
#include "backend/ipu/lower/node_context.h"
#include "backend/ipu/lower/support.h"

namespace cnntrain::ipu {
namespace {

void lower_random_scale(const NodeContext& node) {
    const auto& attrs = node.attrs<graph::RandomScaleAttrs>();
    node.set_output(0, randomly_scaled(node, attrs.site, attrs.keep, node.input(0),
                                       attrs.per_sample ? Draw::per_sample : Draw::per_element));
}

}  // namespace

std::span<const LoweringEntry> random_lowerings() {
    static constexpr LoweringEntry kEntries[] = {
        {OpKind::random_scale, lower_random_scale},
    };
    return kEntries;
}

}  // namespace cnntrain::ipu
