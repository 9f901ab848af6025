#include "graph/toy_ops.h"

#include "cnntrain/base/error.h"
#include "cnntrain/graph/passes.h"
#include "graph/attr_text.h"

namespace cnntrain::test {

using graph::GradContext;
using graph::OpDef;

namespace {

using Descs = std::span<const TensorDesc>;
using RefInputs = std::span<const RefTensor* const>;
using RefOutputs = std::span<RefTensor>;

std::vector<TensorDesc> infer_pair(const Attrs& /*attrs*/, Descs inputs) {
    if (inputs.size() != 2 || inputs[0].shape != inputs[1].shape) throw Error(ErrorKind::usage, "shapes differ");
    return {inputs[0]};
}
std::vector<TensorDesc> infer_same(const Attrs& /*attrs*/, Descs inputs) {
    return {inputs[0]};
}

OpDef constant() {
    return {.kind = OpKind::constant,
            .name = "constant",
            .infer = [](const Attrs& attrs, Descs) -> std::vector<TensorDesc> {
                return {std::get<graph::ConstantAttrs>(attrs).desc};
            },
            .evaluate = [](const Attrs& attrs, RefInputs,
                           RefOutputs outputs) { outputs[0].values[0] = std::get<graph::ConstantAttrs>(attrs).value; }};
}

OpDef add() {
    return {.kind = kAdd,
            .name = "add",
            .infer = infer_pair,
            .gradient =
                [](GradContext& context) {
                    context.set_grad(0, context.grad_output(0));
                    context.set_grad(1, context.grad_output(0));
                },
            .evaluate =
                [](const Attrs&, RefInputs inputs, RefOutputs outputs) {
                    for (std::size_t i = 0; i < outputs[0].values.size(); ++i)
                        outputs[0].values[i] = inputs[0]->values[i] + inputs[1]->values[i];
                }};
}

void multiply_gradient(GradContext& context) {
    const ValueId dy = context.grad_output(0);
    if (context.needs(0)) context.set_grad(0, context.add_one(kMultiply, NoAttrs{}, {dy, context.input(1)}, "da"));
    if (context.needs(1)) context.set_grad(1, context.add_one(kMultiply, NoAttrs{}, {dy, context.input(0)}, "db"));
}

OpDef multiply() {
    return {.kind = kMultiply,
            .name = "multiply",
            .follows_weights = true,
            .infer = infer_pair,
            .gradient = multiply_gradient,
            .flops = [](const Attrs&, Descs inputs, Descs) { return static_cast<double>(inputs[0].elements()); },
            .evaluate =
                [](const Attrs&, RefInputs inputs, RefOutputs outputs) {
                    for (std::size_t i = 0; i < outputs[0].values.size(); ++i)
                        outputs[0].values[i] = inputs[0]->values[i] * inputs[1]->values[i];
                }};
}

OpDef sum() {
    return {.kind = kSum,
            .name = "sum",
            .infer = [](const Attrs&, Descs) -> std::vector<TensorDesc> { return {kScalar}; },
            .gradient =
                [](GradContext& context) {
                    context.set_grad(0, context.add_one(kSpread, NoAttrs{}, {context.grad_output(0)}, "spread"));
                },
            .evaluate =
                [](const Attrs&, RefInputs inputs, RefOutputs outputs) {
                    for (const double value : inputs[0]->values)
                        outputs[0].values[0] += value;
                }};
}

OpDef spread() {
    return {.kind = kSpread,
            .name = "spread",
            .infer = [](const Attrs&, Descs) -> std::vector<TensorDesc> { return {kVector}; },
            .evaluate =
                [](const Attrs&, RefInputs inputs, RefOutputs outputs) {
                    for (double& value : outputs[0].values)
                        value = inputs[0]->values[0];
                }};
}

OpDef split() {
    return {.kind = kSplit,
            .name = "split",
            .infer = [](const Attrs&, Descs inputs) -> std::vector<TensorDesc> {
                return {inputs[0], inputs[0]};
            },
            .gradient =
                [](GradContext& context) {
                    CNNTRAIN_CHECK(!context.has_grad_output(1), "split has a gradient only through its first output");
                    context.set_grad(0, context.grad_output(0));
                },
            .evaluate =
                [](const Attrs&, RefInputs inputs, RefOutputs outputs) {
                    for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
                        outputs[0].values[i] = inputs[0]->values[i];
                        outputs[1].values[i] = 2 * inputs[0]->values[i];
                    }
                }};
}

OpDef step() {
    return {.kind = kStep,
            .name = "step",
            .inputs = {{.use = graph::Use::target}, {.use = graph::Use::gradient}},
            .infer = [](const Attrs&, Descs) -> std::vector<TensorDesc> { return {}; }};
}

OpDef dead_end() {
    return {.kind = kDeadEnd,
            .name = "dead_end",
            .infer = infer_same,
            .describe = [](const Attrs& attrs, graph::AttrText& text) {
                const auto& a = std::get<graph::PoolAttrs>(attrs);
                text.item("kernel", a.kernel);
                text.item("stride", a.stride, std::int64_t{1});
                text.padding(a.padding);
            }};
}

OpDef broken() {
    return {.kind = kBroken, .name = "broken", .infer = infer_same, .gradient = [](GradContext& context) {
                context.set_grad(0, context.add_one(kSum, NoAttrs{}, {context.grad_output(0)}, "wrong"));
            }};
}

graph::OpTable make_table() {
    graph::OpTable table{};
    for (OpDef& def :
         std::array{constant(), add(), multiply(), sum(), spread(), split(), step(), dead_end(), broken()}) {
        const auto index = static_cast<std::size_t>(def.kind);
        table[index] = std::move(def);
    }
    return table;
}

}  // namespace

const graph::OpTable& toy_ops() {
    static const graph::OpTable table = make_table();
    return table;
}

std::vector<double> evaluate(const graph::Graph& graph, const std::map<std::string, std::vector<double>>& given,
                             ValueId wanted) {
    std::vector<RefTensor> values;
    for (std::int32_t i = 0; i < graph.value_count(); ++i) {
        const graph::Value& value = graph.value(ValueId{i});
        values.push_back({value.desc, std::vector<double>(static_cast<std::size_t>(value.desc.elements()))});
        if (const auto it = given.find(value.name); it != given.end()) values.back().values = it->second;
    }
    const auto slot = [&](ValueId id) -> RefTensor& { return values.at(static_cast<std::size_t>(id.index)); };
    for (const graph::Node& node : graph.nodes()) {
        if (node.phase == graph::Phase::update) continue;
        std::vector<const RefTensor*> inputs;
        std::vector<RefTensor> outputs;
        for (const ValueId input : node.inputs)
            inputs.push_back(&slot(input));
        for (const ValueId output : node.outputs)
            outputs.push_back(slot(output));
        graph.def(node).evaluate(node.attrs, inputs, outputs);
        for (std::size_t k = 0; k < outputs.size(); ++k)
            slot(node.outputs[k]) = std::move(outputs[k]);
    }
    return slot(wanted).values;
}

}  // namespace cnntrain::test
