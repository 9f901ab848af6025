#include "convolutions.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backend/cpu/onednn.h"

namespace cnntrain {

namespace {

using cpu::Desc;
using cpu::OneDnn;
using graph::Node;
using graph::OpKind;

struct Timed {
    cpu::Primitive primitive;
    std::vector<std::pair<int, Desc>> arguments;
};

/// x, w and y of a convolution node, all layouts open.
cpu::ConvProblem problem_of(const graph::Graph& graph, const Node& node) {
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

Timed make(const OneDnn& onednn, const graph::Graph& graph, const Node& node) {
    const cpu::ConvProblem problem = problem_of(graph, node);
    switch (node.kind) {
        case OpKind::conv2d: {
            const auto p = onednn.conv_forward(problem);
            return {p, {{DNNL_ARG_SRC, p.src}, {DNNL_ARG_WEIGHTS, p.weights}, {DNNL_ARG_DST, p.dst}}};
        }
        case OpKind::conv2d_input_grad: {
            const auto p = onednn.conv_input_grad(problem);
            return {p, {{DNNL_ARG_DIFF_SRC, p.src}, {DNNL_ARG_WEIGHTS, p.weights}, {DNNL_ARG_DIFF_DST, p.dst}}};
        }
        default: {
            const auto p = onednn.conv_weight_grad(problem);
            return {p, {{DNNL_ARG_SRC, p.src}, {DNNL_ARG_DIFF_WEIGHTS, p.weights}, {DNNL_ARG_DIFF_DST, p.dst}}};
        }
    }
}

double least_ms(const OneDnn& onednn, const Timed& timed, int repeats) {
    std::unordered_map<int, dnnl::memory> arguments;
    for (const auto& [argument, desc] : timed.arguments) {
        const dnnl::memory memory(desc, onednn.engine());
        std::fill_n(static_cast<std::byte*>(memory.get_data_handle()), desc.get_size(), std::byte{0});
        arguments.emplace(argument, memory);
    }
    arguments.emplace(DNNL_ARG_SCRATCHPAD, dnnl::memory(timed.primitive.scratchpad, onednn.engine()));
    dnnl::stream stream = onednn.stream();
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < repeats; ++i) {
        const auto start = std::chrono::steady_clock::now();
        timed.primitive.primitive.execute(stream, arguments);
        stream.wait();
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
        least = std::min(least, took.count());
    }
    return least;
}

}  // namespace

double convolutions_alone_ms(const graph::Graph& graph, int threads, int repeats) {
    omp_set_num_threads(threads);
    const OneDnn onednn;
    std::map<std::string, double> known;  // equal convolutions are timed once
    double total = 0;
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const Node& node = graph.node(graph::NodeId{i});
        const bool is_convolution = node.kind == OpKind::conv2d || node.kind == OpKind::conv2d_input_grad ||
                                    node.kind == OpKind::conv2d_weight_grad;
        if (!is_convolution) continue;
        const auto& attrs = node.as<graph::ConvAttrs>();
        std::string key = std::string(graph.def(node).name) + " " + std::to_string(attrs.stride);
        for (const graph::ValueId value : {node.inputs[0], node.inputs[1], node.outputs[0]}) {
            key += " " + to_string(graph.desc(value));
        }
        const auto found = known.find(key);
        const double ms = found != known.end() ? found->second : least_ms(onednn, make(onednn, graph, node), repeats);
        known.emplace(key, ms);
        total += ms;
    }
    return total;
}

}  // namespace cnntrain
