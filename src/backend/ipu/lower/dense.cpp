// Matrix products by poplin: the fully connected layer, its gradients, and products for every index of leading axes.
#include <algorithm>
#include <string>
#include <vector>

#include <poplar/Interval.hpp>
#include <poplin/MatMul.hpp>
#include <popops/ElementWise.hpp>

#include "backend/ipu/lower/support.h"
#include "cnntrain/base/error.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::ipu {

using graph::DenseAttrs;

namespace {

/// The [I,O] that the stored weight [I,O], [O,I] or [1,1,I,O] stands for.
poplar::Tensor weight_of(const DenseAttrs& attrs, const poplar::Tensor& stored) {
    const poplar::Tensor matrix = stored.rank() == 4 ? stored.squeeze({0, 1}) : stored;
    return attrs.transposed ? matrix.transpose() : matrix;
}

/// Columns [begin, end) of the outputs that one product computes: slices, one after the other, need less memory for
/// temporary data.
std::vector<poplar::Interval> slices_of_outputs(std::size_t slices, std::size_t outputs) {
    std::vector<poplar::Interval> all;
    for (std::size_t k = 0; k < slices; ++k)
        all.emplace_back(k * outputs / slices, (k + 1) * outputs / slices);
    return all;
}

/// Slices of a product with the weight that is the node's input 1: several if the weight is the table of words.
std::vector<poplar::Interval> slices_of_weight(const NodeContext& node, std::size_t outputs) {
    const graph::Value& weight = node.graph.value(graph::strip_casts(node.graph, node.node.inputs.at(1)));
    const bool is_table = std::ranges::any_of(weight.users, [&](graph::NodeId user) {
        const graph::Node& reader = node.graph.node(user);
        return reader.kind == OpKind::embedding;
    });
    const std::size_t slices = is_table && node.attrs<DenseAttrs>().transposed ? node.options.table_slices : 1;
    if (outputs % slices != 0) {
        throw Error(ErrorKind::usage, "--matmul-serialize-factor " + std::to_string(slices) + " does not divide the " +
                                          std::to_string(outputs) +
                                          " rows of the table of words (--vocab-size); use a divisor");
    }
    return slices_of_outputs(slices, outputs);
}

poplar::Tensor product(const NodeContext& node, const char* pass, const poplar::Tensor& a, const poplar::Tensor& b) {
    return poplin::matMul(node.device, a, b, node.program, node.output_type(), node.debug(), node.options.product(pass),
                          &node.plans);
}

void lower_dense(const NodeContext& node) {
    const auto& attrs = node.attrs<DenseAttrs>();
    const poplar::Tensor weight = weight_of(attrs, node.input(1));
    std::vector<poplar::Tensor> slices;
    for (const poplar::Interval& slice : slices_of_weight(node, weight.dim(1)))
        slices.push_back(product(node, "TRAINING_FWD", rows(node.input(0)), weight.slice(slice, 1)));
    const poplar::Tensor y = poplar::concat(slices, 1);
    if (attrs.bias) {
        const poplar::Tensor bias = node.cast(node.input(2), y.elementType()).expand({0});
        popops::addInPlace(node.device, y, bias, node.program, node.debug());
    }
    node.set_output(0, y.reshape(extents(node.output_desc().shape)));
}

void lower_dense_input_grad(const NodeContext& node) {
    const poplar::Tensor weight = weight_of(node.attrs<DenseAttrs>(), node.input(1));
    const poplar::Tensor dy = rows(node.input(0));
    poplar::Tensor dx;
    for (const poplar::Interval& slice : slices_of_weight(node, weight.dim(1))) {
        const poplar::Tensor summand =
            product(node, "TRAINING_BWD", dy.slice(slice, 1), weight.slice(slice, 1).transpose());
        if (dx.valid()) {
            popops::addInPlace(node.device, dx, summand, node.program, node.debug());
        } else {
            dx = summand;
        }
    }
    node.set_output(0, dx.reshape(extents(node.output_desc().shape)));
}

void lower_dense_weight_grad(const NodeContext& node) {
    const bool transposed = node.attrs<DenseAttrs>().transposed;
    const poplar::Tensor x = rows(node.input(0));
    const poplar::Tensor dy = rows(node.input(1));
    std::vector<poplar::Tensor> slices;
    const std::size_t outputs = dy.dim(1);
    // The forward product has refused a table that the factor does not divide. Other weights then stay whole.
    const bool divides = transposed && outputs % node.options.table_slices == 0;
    for (const poplar::Interval& slice : slices_of_outputs(divides ? node.options.table_slices : 1, outputs)) {
        const poplar::Tensor part = dy.slice(slice, 1);
        slices.push_back(transposed ? product(node, "TRAINING_WU", part.transpose(), x)
                                    : product(node, "TRAINING_WU", x.transpose(), part));
    }
    node.set_output(0, poplar::concat(slices, transposed ? 0 : 1).reshape(extents(node.output_desc().shape)));
}

void lower_bias_grad(const NodeContext& node) {
    node.set_output(0, node.sum(rows(node.input(0)), {0}, node.output_type()));
}

poplar::Tensor transposed_last(const poplar::Tensor& matrices, bool transpose) {
    return transpose ? matrices.dimShuffle({0, 2, 1}) : matrices;
}

void lower_batched_matmul(const NodeContext& node) {
    const auto& attrs = node.attrs<graph::MatmulAttrs>();
    const auto grouped = [](const poplar::Tensor& t) {
        const std::size_t rank = t.rank();
        return t.reshape({t.numElements() / (t.dim(rank - 2) * t.dim(rank - 1)), t.dim(rank - 2), t.dim(rank - 1)});
    };
    const poplar::Tensor y =
        poplin::matMulGrouped(node.device, transposed_last(grouped(node.input(0)), attrs.transpose_a),
                              transposed_last(grouped(node.input(1)), attrs.transpose_b), node.program,
                              node.output_type(), node.debug(), node.options.product("NONE"), &node.plans);
    node.set_output(0, y.reshape(extents(node.output_desc().shape)));
}

poplar::Tensor allocate_dense(const AllocationContext& context, std::size_t index) {
    const auto& attrs = context.node.as<DenseAttrs>();
    const TensorDesc& stored = context.graph.desc(context.node.inputs[1]);
    if (index != 1 || stored.shape.size() != 2) return {};
    const TensorDesc& x = context.graph.desc(context.node.inputs[0]);
    const std::vector<std::size_t> shape = extents(stored.shape);
    const std::size_t inputs = shape[attrs.transposed ? 1 : 0];
    const std::size_t outputs = shape[attrs.transposed ? 0 : 1];
    const poplar::Tensor weight = poplin::createMatMulInputRHS(
        context.device, device_type(stored.dtype), {static_cast<std::size_t>(x.elements()) / inputs, inputs},
        {inputs, outputs}, poplar::DebugContext(context.graph.value(context.node.inputs[1]).name),
        context.options.product("TRAINING_FWD"), &context.plans);
    return attrs.transposed ? weight.transpose() : weight;
}

}  // namespace

std::span<const LoweringEntry> dense_lowerings() {
    static constexpr LoweringEntry kEntries[] = {
        {OpKind::dense, lower_dense, allocate_dense},         {OpKind::dense_input_grad, lower_dense_input_grad},
        {OpKind::dense_weight_grad, lower_dense_weight_grad}, {OpKind::bias_grad, lower_bias_grad},
        {OpKind::batched_matmul, lower_batched_matmul},
    };
    return kEntries;
}

}  // namespace cnntrain::ipu
