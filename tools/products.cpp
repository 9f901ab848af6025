#include "products.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backend/cpu/onednn.h"
#include "backend/cpu/run/speeds.h"
#include "cnntrain/base/elapsed.h"

namespace cnntrain {
namespace {

using cpu::Desc;
using cpu::Dims;
using cpu::fill_with_numbers;
using cpu::OneDnn;
using graph::Node;
using graph::OpKind;

struct Timed {
    cpu::Primitive primitive;
    DType type = DType::f32;  // of the operands
    std::vector<std::pair<int, Desc>> arguments;
};

using Timings = std::vector<Timed>;

bool is_convolution(OpKind kind) {
    return kind == OpKind::conv2d || kind == OpKind::conv2d_input_grad || kind == OpKind::conv2d_weight_grad;
}

bool is_dense(OpKind kind) {
    return kind == OpKind::dense || kind == OpKind::dense_input_grad || kind == OpKind::dense_weight_grad;
}

bool is_attention(OpKind kind) {
    return kind == OpKind::attention || kind == OpKind::attention_grad;
}

/// x, w and y of a convolution node, all layouts open.
cpu::ConvProblem convolution_of(const graph::Graph& graph, const Node& node) {
    const auto& attrs = node.as<graph::ConvAttrs>();
    const auto open = [](const Desc& desc) { return cpu::any_layout(desc); };
    const auto activation = [&](graph::ValueId value) { return open(cpu::image_desc(graph.desc(value))); };
    const auto kernel = [&](graph::ValueId value) {
        return open(cpu::plain_kernel_desc(graph.desc(value), attrs.groups));
    };
    const graph::ValueId first = node.inputs[0];
    const graph::ValueId second = node.inputs[1];
    const graph::ValueId result = node.outputs[0];
    switch (node.kind) {
        case OpKind::conv2d:
            return {activation(first), kernel(second), activation(result), attrs.stride, attrs.padding};
        case OpKind::conv2d_input_grad:
            return {activation(result), kernel(second), activation(first), attrs.stride, attrs.padding};
        default:
            return {activation(first), kernel(result), activation(second), attrs.stride, attrs.padding};
    }
}

Timed convolution(const OneDnn& onednn, const graph::Graph& graph, const Node& node) {
    const cpu::ConvProblem problem = convolution_of(graph, node);
    const DType type = graph.desc(node.inputs[0]).dtype;
    switch (node.kind) {
        case OpKind::conv2d: {
            const auto p = onednn.conv_forward(problem);
            return {p, type, {{DNNL_ARG_SRC, p.src}, {DNNL_ARG_WEIGHTS, p.weights}, {DNNL_ARG_DST, p.dst}}};
        }
        case OpKind::conv2d_input_grad: {
            const auto p = onednn.conv_input_grad(problem);
            return {p, type, {{DNNL_ARG_DIFF_SRC, p.src}, {DNNL_ARG_WEIGHTS, p.weights}, {DNNL_ARG_DIFF_DST, p.dst}}};
        }
        default: {
            const auto p = onednn.conv_weight_grad(problem);
            return {p, type, {{DNNL_ARG_SRC, p.src}, {DNNL_ARG_DIFF_WEIGHTS, p.weights}, {DNNL_ARG_DIFF_DST, p.dst}}};
        }
    }
}

/// c[B,M,N] = a[B,M,K] * b[B,K,N], or without B.
Timed product(const OneDnn& onednn, const Dims& batch, std::int64_t m, std::int64_t k, std::int64_t n, DType type,
              DType result) {
    const auto open = [&](std::int64_t rows, std::int64_t columns, DType element) {
        Dims dims = batch;
        dims.insert(dims.end(), {rows, columns});
        return Desc(dims, cpu::to_dnnl(element), dnnl::memory::format_tag::any);
    };
    const cpu::Primitive p = onednn.matmul(open(m, k, type), open(k, n, type), open(m, n, result), false);
    return {p, type, {{DNNL_ARG_SRC, p.src}, {DNNL_ARG_WEIGHTS, p.weights}, {DNNL_ARG_DST, p.dst}}};
}

/// Of any of the three products of a fully connected layer, x * w = y: the product of their sizes, shared out
/// differently.
Timed dense(const OneDnn& onednn, const graph::Graph& graph, const Node& node) {
    const TensorDesc& first = graph.desc(node.inputs[0]);
    const TensorDesc& result = graph.desc(node.outputs[0]);
    const std::int64_t columns = result.shape.back();
    if (node.kind == OpKind::dense_weight_grad) {
        const std::int64_t m = result.shape.front();
        return product(onednn, {}, m, first.elements() / first.shape.back(), columns, first.dtype, result.dtype);
    }
    const std::int64_t inner = first.shape.back();
    return product(onednn, {}, first.elements() / inner, inner, columns, first.dtype, result.dtype);
}

/// Scores and their use forward; in backward the gradients of q, k, v and of the probabilities.
Timings attention(const OneDnn& onednn, const graph::Graph& graph, const Node& node) {
    const TensorDesc& x = graph.desc(node.inputs[0]);
    const bool packed = node.inputs.size() == (node.kind == OpKind::attention ? 2U : 5U);
    const std::int64_t heads = node.as<graph::AttentionAttrs>().heads;
    const std::int64_t tokens = x.shape[1];
    const std::int64_t features = x.shape[2] / (packed ? 3 : 1) / heads;
    const Dims batch = {x.shape[0] * heads};
    const Timed to_scores = product(onednn, batch, tokens, features, tokens, x.dtype, DType::f32);
    const Timed from_scores = product(onednn, batch, tokens, tokens, features, x.dtype, x.dtype);
    if (node.kind == OpKind::attention) return {to_scores, from_scores};
    return {to_scores, from_scores, from_scores, from_scores};
}

Timings timings_of(const OneDnn& onednn, const graph::Graph& graph, const Node& node) {
    if (is_convolution(node.kind)) return {convolution(onednn, graph, node)};
    if (is_dense(node.kind)) return {dense(onednn, graph, node)};
    return attention(onednn, graph, node);
}

/// Equal for nodes that take equally long.
std::string key_of(const graph::Graph& graph, const Node& node) {
    std::string key = std::string(graph.def(node).name);
    if (const auto* attrs = std::get_if<graph::ConvAttrs>(&node.attrs)) key += " " + std::to_string(attrs->stride);
    for (const graph::ValueId value : node.inputs)
        key += " " + to_string(graph.desc(value));
    return key + " " + to_string(graph.desc(node.outputs[0]));
}

double least_ms(const OneDnn& onednn, const Timed& timed, int repeats) {
    std::unordered_map<int, dnnl::memory> arguments;
    for (const auto& [argument, desc] : timed.arguments) {
        const dnnl::memory memory(desc, onednn.engine());
        fill_with_numbers(memory, timed.type);
        arguments.emplace(argument, memory);
    }
    arguments.emplace(DNNL_ARG_SCRATCHPAD, dnnl::memory(timed.primitive.scratchpad, onednn.engine()));
    dnnl::stream stream = onednn.stream();
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < repeats; ++i) {
        const auto start = std::chrono::steady_clock::now();
        timed.primitive.primitive.execute(stream, arguments);
        stream.wait();
        least = std::min(least, 1e3 * seconds_since(start));
    }
    return least;
}

}  // namespace

double products_alone_ms(const graph::Graph& graph, int threads, int repeats) {
    omp_set_num_threads(threads);
    const OneDnn onednn;
    std::map<std::string, double> known;  // equal ones are timed once
    double total = 0;
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const Node& node = graph.node(graph::NodeId{i});
        if (!is_convolution(node.kind) && !is_dense(node.kind) && !is_attention(node.kind)) continue;
        const std::string key = key_of(graph, node);
        if (!known.contains(key)) {
            double& ms = known[key];
            for (const Timed& timed : timings_of(onednn, graph, node))
                ms += least_ms(onednn, timed, repeats);
        }
        total += known.at(key);
    }
    return total;
}

double measured_peak_gflops(DType type, int threads) {
    return cpu::measure_products(type, threads) / 1e9;
}

}  // namespace cnntrain
