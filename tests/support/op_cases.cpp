#include "support/op_cases.h"

#include <algorithm>
#include <concepts>
#include <variant>

#include "cnntrain/base/rng.h"
#include "cnntrain/graph/passes.h"
#include "support/case_list.h"

namespace cnntrain::test {
namespace {

std::vector<OpCase> make_cases() {
    std::vector<OpCase> cases;
    const auto add_typed = [&cases](std::vector<OpCase> typed, DType type) {
        for (OpCase& op_case : typed) {
            op_case.name += "/" + std::string(name(type));
            op_case.seed = cases.size() + 1;
            cases.push_back(std::move(op_case));
        }
    };
    for (const DType type : {DType::f32, DType::bf16}) {
        std::vector<OpCase> typed;
        add_pointwise_cases(typed, type);
        add_conv_cases(typed, type);
        add_pool_cases(typed, type);
        add_dense_cases(typed, type);
        add_norm_cases(typed, type);
        add_proxy_norm_cases(typed, type);
        add_inference_cases(typed, type);
        add_loss_cases(typed, type);
        add_mixing_cases(typed, type);
        add_update_cases(typed, type);
        add_view_cases(typed, type);
        add_matmul_cases(typed, type);
        add_plain_cases(typed, type);
        add_typed(std::move(typed), type);
    }
    // These cases come last, so that the seeds of all others stay.
    for (const DType type : {DType::f32, DType::bf16}) {
        std::vector<OpCase> typed;
        add_top_k_cases(typed, type);
        add_typed(std::move(typed), type);
    }
    for (const DType type : {DType::f32, DType::bf16}) {
        std::vector<OpCase> typed;
        add_text_cases(typed, type);
        add_bert_update_cases(typed, type);
        add_typed(std::move(typed), type);
    }
    std::vector<OpCase> floats;
    add_tile_cases(floats, DType::f32);
    floats.push_back({.name = "scale/loss_scaling",
                      .kind = OpKind::scale,
                      .attrs = graph::ScaleAttrs{0.25},
                      .inputs = {{"loss_scaling", {DType::f32, {}}, 0.5, 2}}});
    add_typed(std::move(floats), DType::f32);
    for (const DType type : {DType::f32, DType::bf16}) {
        std::vector<OpCase> typed;
        add_weighted_loss_cases(typed, type);
        add_weighted_mixing_cases(typed, type);
        add_symmetric_cases(typed, type);
        add_typed(std::move(typed), type);
    }
    for (const DType type : {DType::f32, DType::bf16}) {
        std::vector<OpCase> typed;
        add_group_inference_cases(typed, type);
        add_typed(std::move(typed), type);
    }
    OpCase loss{.name = "scale/loss", .kind = OpKind::scale, .attrs = graph::ScaleAttrs{0.5}, .inputs = {}};
    loss.inputs = {{"x", {DType::f32, {}}, 0.5, 2}};
    add_typed({loss}, DType::f32);
    for (const DType type : {DType::f32, DType::bf16}) {
        std::vector<OpCase> typed;
        add_distillation_cases(typed, type);
        add_typed(std::move(typed), type);
    }
    for (const DType type : {DType::f32, DType::bf16}) {
        std::vector<OpCase> typed;
        add_several_label_cases(typed, type);
        add_typed(std::move(typed), type);
    }
    for (const DType type : {DType::f32, DType::bf16}) {
        std::vector<OpCase> typed;
        add_quantised_cases(typed, type);
        add_typed(std::move(typed), type);
    }
    return cases;
}

bool is_floating(DType type) {
    return type == DType::f32 || type == DType::bf16 || type == DType::f16;
}

ValueId add_case_input(graph::Graph& graph, const CaseInput& input) {
    if (input.fed) return graph.add_input(input.name, input.desc);
    const bool is_scalar = input.name == "learning_rate" || input.name == "step" || input.name == "loss_scaling";
    if (is_scalar) return graph.add_scalar(input.name);
    if (!input.computed) return graph.add_parameter(input.name, input.desc, {});
    const ValueId a = graph.add_parameter(input.name + "/a", input.desc, {});
    const ValueId b = graph.add_parameter(input.name + "/b", input.desc, {});
    graph.set_phase(Phase::backward);
    return graph.add_one(OpKind::add, graph::NoAttrs{}, {a, b}, input.name);
}

void add_gradients(CaseGraph& result, const OpCase& op_case, const graph::OpTable& ops) {
    graph::Graph& graph = result.graph;
    const graph::Node node = graph.node(result.node);
    std::vector<ValueId> grad_outputs(node.outputs.size());
    grad_outputs[0] = graph.add_parameter("d/out0", graph.desc(node.outputs[0]), {});
    std::vector<bool> needed;
    for (const CaseInput& input : op_case.inputs)
        needed.push_back(is_floating(input.desc.dtype) && !input.fed && !input.fixed);
    graph.set_phase(Phase::backward);
    graph::GradContext context(graph, node, grad_outputs, needed);
    ops[static_cast<std::size_t>(op_case.kind)].gradient(context);
    for (std::size_t i = 0; i < needed.size(); ++i) {
        if (!needed[i]) continue;
        const std::string& name = op_case.inputs[i].name;
        result.gradients[name] = context.grads().at(i);
        graph.mark_output("grad/" + name, context.grads().at(i));
    }
}

double draw(const CaseInput& input, Rng& rng) {
    switch (input.fill) {
        case Fill::integers:
            return static_cast<double>(
                rng.integer(static_cast<std::int64_t>(input.low), static_cast<std::int64_t>(input.high) + 1));
        case Fill::coarse:
            return input.low + (input.high - input.low) * static_cast<double>(rng.integer(0, 4)) / 4;
        default:
            break;
    }
    double value = rng.uniform(input.low, input.high);
    while (std::abs(value) < input.gap)
        value = rng.uniform(input.low, input.high);
    return value;
}

HostTensor random_tensor(const CaseInput& input, std::uint64_t seed, std::uint64_t index) {
    Rng rng(seed, RngStream::test, 0, index);
    HostTensor tensor(input.desc);
    if (input.fill == Fill::runs) {
        const std::int64_t length = input.desc.shape.back();
        for (std::int64_t i = 0; i < tensor.elements(); ++i)
            tensor.set(i, i % length == 0 ? 1 : tensor.at(i - 1) + (rng.uniform() < input.high ? 1 : 0));
        return tensor;
    }
    if (input.fill != Fill::distinct) {
        for (std::int64_t i = 0; i < tensor.elements(); ++i)
            tensor.set(i, draw(input, rng));
        return tensor;
    }
    // Windows reach over one image, so values need to differ within one image and channel only; that many steps are
    // distinct in bf16 too.
    const Shape& shape = input.desc.shape;
    const std::int64_t pixels = shape[1] * shape[2];
    for (std::int64_t plane = 0; plane < shape[0] * shape[3]; ++plane) {
        std::vector<std::int64_t> order(static_cast<std::size_t>(pixels));
        for (std::int64_t i = 0; i < pixels; ++i)
            order[static_cast<std::size_t>(i)] = i;
        for (std::int64_t i = pixels - 1; i > 0; --i)
            std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(rng.integer(0, i + 1))]);
        for (std::int64_t i = 0; i < pixels; ++i) {
            const double step = static_cast<double>(order[static_cast<std::size_t>(i)]) / static_cast<double>(pixels);
            const std::int64_t sample = plane / shape[3];
            tensor.set((sample * pixels + i) * shape[3] + plane % shape[3],
                       input.low + (input.high - input.low) * step);
        }
    }
    return tensor;
}

}  // namespace

const std::vector<OpCase>& op_cases() {
    static const std::vector<OpCase> cases = make_cases();
    return cases;
}

OpCase in_half(OpCase op_case) {
    const auto change = [](DType& type) {
        if (type == DType::bf16) type = DType::f16;
    };
    for (CaseInput& input : op_case.inputs)
        change(input.desc.dtype);
    std::visit(
        [&](auto& attrs) {
            if constexpr (requires { requires std::same_as<decltype(attrs.type), DType>; }) change(attrs.type);
            if constexpr (requires { attrs.result_type; }) change(attrs.result_type);
            if constexpr (requires { attrs.desc.dtype; }) change(attrs.desc.dtype);
        },
        op_case.attrs);
    return op_case;
}

bool has_gradient(const OpCase& op_case, const graph::OpTable& ops) {
    if (ops[static_cast<std::size_t>(op_case.kind)].gradient == nullptr) return false;
    if (op_case.kind == graph::OpKind::max_pool && op_case.inputs[0].desc.dtype == DType::u8) return false;
    if (op_case.kind == graph::OpKind::batch_norm_inference) {
        // Slopes of other activations do not follow from the result, or have too few digits in 16 bits.
        const auto& norm = std::get<graph::NormAttrs>(op_case.attrs);
        const bool exact = norm.activation == graph::Activation::none || norm.activation == graph::Activation::relu;
        return !norm.residual || exact;
    }
    const auto* conv = std::get_if<graph::ConvAttrs>(&op_case.attrs);
    return conv == nullptr || !conv->bias;
}

CaseGraph build_case(const OpCase& op_case, bool with_gradient, const graph::OpTable& ops) {
    CaseGraph result{graph::Graph(ops), {}, {}};
    graph::Graph& graph = result.graph;
    std::vector<ValueId> inputs;
    for (const CaseInput& input : op_case.inputs)
        inputs.push_back(add_case_input(graph, input));
    const bool updates = !ops[static_cast<std::size_t>(op_case.kind)].overwritten_inputs(inputs.size()).empty();
    graph.set_phase(updates ? Phase::update : Phase::forward);
    const std::vector<ValueId> outputs = graph.add(op_case.kind, op_case.attrs, inputs, op_case.name);
    result.node = graph::NodeId{graph.node_count() - 1};
    for (std::size_t i = 0; i < outputs.size(); ++i)
        graph.mark_output("out" + std::to_string(i), outputs[i]);
    if (with_gradient) add_gradients(result, op_case, ops);
    return result;
}

std::map<std::string, HostTensor> random_inputs(const OpCase& op_case, const CaseGraph& case_graph) {
    std::map<std::string, HostTensor> tensors;
    std::uint64_t index = 0;
    for (const CaseInput& input : op_case.inputs) {
        if (input.computed) {
            tensors[input.name + "/a"] = random_tensor(input, op_case.seed, index++);
            tensors[input.name + "/b"] = random_tensor(input, op_case.seed, index++);
        } else {
            tensors[input.name] = random_tensor(input, op_case.seed, index++);
        }
    }
    if (const auto incoming = case_graph.graph.find("d/out0")) {
        const CaseInput input{"d/out0", case_graph.graph.desc(*incoming), 0.25, 1.25};
        tensors[input.name] = random_tensor(input, op_case.seed, index++);
    }
    return tensors;
}

}  // namespace cnntrain::test
