// Rows chosen by their numbers, by popops' slices, and the cross entropy of tokens.
#include <algorithm>

#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Zero.hpp>

#include "backend/ipu/lower/class_losses.h"
#include "backend/ipu/lower/support.h"

namespace cnntrain::ipu {

using popops::SlicePlan;

namespace pe = popops::expr;

namespace {

/// The layout of a table [rows][features] whose rows are read or added to.
SlicePlan slice_plan(const poplar::Graph& device, const poplar::Type& type, std::size_t rows, std::size_t features,
                     std::size_t lookups) {
    return popops::embedding::plan(device, type, rows, features, {lookups}, {});
}

/// [n] row numbers as popops' offsets UNSIGNED_INT [n][1]; negative numbers become larger than any row's.
poplar::Tensor offsets(const poplar::Tensor& numbers) {
    return numbers.flatten().expand({1}).reinterpret(poplar::UNSIGNED_INT);
}

/// Rows [n][features] of the table, or zeros where it has no row of the number: multiSlice reads row 0 there.
poplar::Tensor rows_of(const NodeContext& node, const poplar::Tensor& table, const poplar::Tensor& numbers) {
    const SlicePlan plan =
        slice_plan(node.device, table.elementType(), table.dim(0), table.dim(1), numbers.numElements());
    poplar::Tensor rows =
        popops::multiSlice(node.device, table, offsets(numbers), {0}, {1}, node.program, plan, {}, node.debug())
            .squeeze({1});
    popops::mapInPlace(node.device, pe::Select(pe::_1, pe::Const(0.0F), in_range(pe::_2, table.dim(0))),
                       {rows, numbers.flatten().expand({1})}, node.program, node.debug());
    return rows;
}

/// FLOAT [rows][features]: `others`, or zeros without them, plus dy [n][features] in the rows of these numbers.
/// Numbers outside 0..rows-1 add nothing.
poplar::Tensor sum_of_rows(const NodeContext& node, std::size_t rows, const poplar::Tensor& numbers,
                           const poplar::Tensor& dy, const poplar::Tensor& others = {}) {
    const std::size_t features = dy.dim(1);
    const SlicePlan plan = slice_plan(node.device, poplar::FLOAT, rows, features, numbers.numElements());
    poplar::Tensor sum =
        popops::createSliceableTensor(node.device, poplar::FLOAT, {rows, features}, {0}, {1}, plan, {}, node.debug());
    if (others.valid()) {
        node.program.add(poplar::program::Copy(others, sum));
    } else {
        popops::zero(node.device, sum, node.program, node.debug());
    }
    const poplar::Tensor one = node.device.addConstant(poplar::FLOAT, {}, 1.0F, node.debug());
    node.device.setTileMapping(one, 0);
    popops::multiUpdateAdd(node.device, sum, node.cast(dy, poplar::FLOAT).expand({1}), offsets(numbers), one, {0}, {1},
                           node.program, plan, {}, node.debug());
    return sum;
}

/// [...,C] as rows.
poplar::Tensor as_rows(const poplar::Tensor& x) {
    return x.flatten(0, static_cast<unsigned>(x.rank()) - 1);
}

// ---- embedding ----

void lower_embedding(const NodeContext& node) {
    const poplar::Tensor& ids = node.input(0);
    const poplar::Tensor& table = node.input(1);
    const poplar::Tensor rows = rows_of(node, table, ids);
    node.set_output(0, node.cast(rows, node.output_type()).reshape(extents(node.output_desc().shape)));
}

void lower_embedding_grad(const NodeContext& node) {
    const auto rows = static_cast<std::size_t>(node.attrs<graph::EmbeddingAttrs>().rows);
    const poplar::Tensor others = node.inputs() == 3 ? node.input(2) : poplar::Tensor();
    node.set_output(0, sum_of_rows(node, rows, node.input(0), as_rows(node.input(1)), others));
}

/// A table that a dense layer multiplies by, too, gets that layer's layout.
poplar::Tensor allocate_embedding(const AllocationContext& context, std::size_t index) {
    if (index != 1) return {};
    const graph::Value& table = context.graph.value(context.node.inputs[1]);
    const auto multiplies = [&](graph::NodeId user) { return context.graph.node(user).kind == OpKind::dense; };
    if (std::ranges::any_of(table.users, multiplies)) return {};
    const std::vector<std::size_t> shape = extents(table.desc.shape);
    const auto lookups = static_cast<std::size_t>(context.graph.desc(context.node.inputs[0]).elements());
    const poplar::Type type = device_type(table.desc.dtype);
    return popops::createSliceableTensor(context.device, type, shape, {0}, {1},
                                         slice_plan(context.device, type, shape[0], shape[1], lookups), {},
                                         poplar::DebugContext(table.name));
}

// ---- gather_rows ----

/// Numbers of the rows of all samples, INT like positions [B,M]: the row after all of them where there is no row.
poplar::Tensor numbers_in_batch(const NodeContext& node, const poplar::Tensor& positions, std::size_t rows) {
    const auto samples = static_cast<int>(positions.dim(0));
    const auto per_sample = static_cast<int>(rows);
    return node.map(pe::Select(pe::_1 + pe::_2 * per_sample, pe::Const(samples * per_sample), in_range(pe::_1, rows)),
                    {positions, numbers_up_to(node, positions.dim(0)).transpose()});
}

void lower_gather_rows(const NodeContext& node) {
    const poplar::Tensor& x = node.input(0);
    const poplar::Tensor& positions = node.input(1);
    const poplar::Tensor rows = rows_of(node, as_rows(x), numbers_in_batch(node, positions, x.dim(1)));
    node.set_output(0, rows.reshape(extents(node.output_desc().shape)));
}

void lower_gather_rows_grad(const NodeContext& node) {
    const auto rows = static_cast<std::size_t>(node.attrs<graph::GatherRowsAttrs>().rows);
    const poplar::Tensor& positions = node.input(0);
    const poplar::Tensor dx =
        sum_of_rows(node, positions.dim(0) * rows, numbers_in_batch(node, positions, rows), as_rows(node.input(1)));
    node.set_output(0, node.cast(dx, node.output_type()).reshape(extents(node.output_desc().shape)));
}

// ---- token_cross_entropy ----

constexpr auto kEpsilon = static_cast<float>(graph::kTokenWeightEpsilon);

void lower_token_cross_entropy(const NodeContext& node) {
    const poplar::Tensor& logits = node.input(0);
    const poplar::Tensor& labels = node.input(1);
    const poplar::Tensor& weights = node.input(2);
    const auto is_label = in_range(pe::_1, logits.dim(1));
    const poplar::Tensor own = own_logits(node, logits, labels);
    const poplar::Tensor log_sums = exponentials(node, logits).log_sums;
    const poplar::Tensor losses =
        node.map(pe::Select(pe::_2 * (pe::_3 - pe::Cast(pe::_4, poplar::FLOAT)), pe::Const(0.0F), is_label),
                 {labels, weights, log_sums, own});
    const poplar::Tensor correct = node.map(pe::Select(pe::_2, pe::Const(0.0F), is_label && (pe::_3 == pe::Const(0))),
                                            {labels, weights, ranks_of_labels(node, logits, labels, own)});
    const poplar::Tensor weight = total(node, weights);
    node.set_output(0, node.map(pe::_1 / (pe::_2 + kEpsilon), {total(node, losses), weight}));
    node.set_output(
        1, node.map(pe::Select(pe::Const(0.0F), pe::_1 / pe::_2, pe::_2 == 0.0F), {total(node, correct), weight}));
    node.set_output(2, log_sums);
}

void lower_token_cross_entropy_grad(const NodeContext& node) {
    const poplar::Tensor& logits = node.input(0);
    const auto column = [&](std::size_t i) { return node.input(i).expand({1}); };
    const poplar::Tensor scale = node.map(pe::_1 / (pe::_2 + kEpsilon), {node.input(4), total(node, node.input(2))});
    const auto target = pe::Select(pe::Const(1.0F), pe::Const(0.0F), pe::_2 == pe::_6);
    const auto probability = pe::Exp(pe::Cast(pe::_1, poplar::FLOAT) - pe::_4);
    const auto gradient =
        pe::Select(pe::_5 * pe::_3 * (probability - target), pe::Const(0.0F), in_range(pe::_2, logits.dim(1)));
    node.set_output(0, node.map(pe::Cast(gradient, node.output_type()),
                                {logits, column(1), column(2), column(3), scale, numbers_up_to(node, logits.dim(1))}));
}

}  // namespace

std::span<const LoweringEntry> token_lowerings() {
    static constexpr LoweringEntry kEntries[] = {
        {OpKind::embedding, lower_embedding, allocate_embedding},
        {OpKind::embedding_grad, lower_embedding_grad},
        {OpKind::gather_rows, lower_gather_rows},
        {OpKind::gather_rows_grad, lower_gather_rows_grad},
        {OpKind::token_cross_entropy, lower_token_cross_entropy},
        {OpKind::token_cross_entropy_grad, lower_token_cross_entropy_grad},
    };
    return kEntries;
}

}  // namespace cnntrain::ipu
