#include "cnntrain/graph/op.h"

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "graph/ops/families.h"

namespace cnntrain::ops {
namespace {

using FamilyOps = std::vector<graph::OpDef> (*)();

constexpr FamilyOps kFamilies[] = {
    activation_ops, attention_ops, conv_ops,       dense_ops,  embedding_ops, fold_ops,      gate_ops,
    layer_norm_ops, loss_ops,      matmul_ops,     mixing_ops, norm_ops,      pointwise_ops, pool_ops,
    proxy_norm_ops, random_ops,    token_loss_ops, update_ops, view_ops,
};

graph::OpTable make_table() {
    constexpr auto kNames = enumerator_names<graph::OpKind>();
    graph::OpTable table{};
    for (const FamilyOps family : kFamilies) {
        for (graph::OpDef& def : family()) {
            graph::OpDef& place = table.at(static_cast<std::size_t>(def.kind));
            def.name = kNames.at(static_cast<std::size_t>(def.kind));
            CNNTRAIN_CHECK(place.infer == nullptr, "two operations are called " + std::string(def.name));
            place = std::move(def);
        }
    }
    for (std::size_t i = 0; i < table.size(); ++i) {
        const graph::OpDef& def = table[i];
        CNNTRAIN_CHECK(def.infer != nullptr && (def.evaluate != nullptr || def.evaluate_random != nullptr),
                       "no family defines the operation of kind " + std::to_string(i));
    }
    return table;
}

}  // namespace

const graph::OpTable& op_table() {
    static const graph::OpTable table = make_table();
    return table;
}

}  // namespace cnntrain::ops
