// The fully connected layer and its gradients: matrix products by own kernels if the processor has instructions for
// them, else by oneDNN.
#include <omp.h>

#include <functional>
#include <numeric>
#include <optional>

#include "backend/cpu/isa.h"
#include "backend/cpu/kernels/tiles.h"
#include "backend/cpu/lower/node_context.h"
#include "backend/cpu/lower/own_conv.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {

using graph::DenseAttrs;
using graph::ValueId;

namespace {

/// The same memory read as another matrix.
Placed viewed(Placed tensor, const Desc& desc) {
    tensor.desc = desc;
    return tensor;
}

/// The shape of a product with a weight, which is stored as [I,O], or as [O,I] if it is transposed.
struct DenseShape {
    DenseShape(const TensorDesc& x, const TensorDesc& y)
        : rows(y.elements() / y.shape.back()), inputs(x.shape.back()), outputs(y.shape.back()) {}

    Desc stored(bool is_transposed, DType type) const {
        return is_transposed ? matrix_desc(outputs, inputs, type) : matrix_desc(inputs, outputs, type);
    }
    /// The stored weight as the [I,O] that it stands for.
    Desc weight(bool is_transposed, DType type) const { return matrix_desc(inputs, outputs, type, is_transposed); }
    /// The same as [O,I].
    Desc turned_weight(bool is_transposed, DType type) const {
        return matrix_desc(outputs, inputs, type, !is_transposed);
    }

    std::int64_t rows, inputs, outputs;
};

/// Does it pay to copy the right operand into the product's preferred layout, given the rows of the left one? oneDNN
/// multiplies by its own layout a tenth (f32) to a third (bf16) faster than by a row-major matrix, and twice as fast
/// if rows of f32 are 3072 elements long. The copy costs as much as a product with some hundred rows.
bool pays_for_copy(std::int64_t rows, DType type) {
    constexpr std::int64_t kRowsOfFloats = 512;
    constexpr std::int64_t kRowsOfHalves = 1024;
    return rows >= (type == DType::f32 ? kRowsOfFloats : kRowsOfHalves);
}

/// The unit that own kernels use for this type, if they are faster than oneDNN's. Those of f32 are slower on processors
/// without AVX512-BF16 (Cascade Lake, BERT-Base: 100 compared with 145 GFLOP/s).
std::optional<TileUnit> tile_unit(DType type) {
    const Isa isa = effective_isa();
    if (type == DType::f32 && isa.avx512_bf16 && has(TileUnit::multiply_adds)) return TileUnit::multiply_adds;
    if (type != DType::bf16) return std::nullopt;
    if (isa.amx && has(TileUnit::amx)) return TileUnit::amx;
    if (isa.avx512_bf16 && has(TileUnit::dot_products)) return TileUnit::dot_products;
    return std::nullopt;
}

/// Is the product computed by tiles? In bfloat16, the copy of a weight costs about as much as AMX's product with 130
/// rows (weights of BERT-Base) and serves `all_rows`, the rows of all micro-batches of an update. In f32, enough rows
/// hide the copies that threads make. Copies that also transposed the right operand made products slower than
/// oneDNN's (BERT-Base, Zen 4: 200 to 210 compared with 212 to 216 GFLOP/s).
bool is_for_tiles(const TileProduct& product, DType type, std::int64_t all_rows, bool is_right_turned) {
    constexpr std::int64_t kFewestRows = 128;
    const bool is_float = type == DType::f32;
    if (is_float && is_right_turned) return false;
    return product.is_whole() && (is_float ? product.rows : all_rows) >= kFewestRows && tile_unit(type);
}

/// The layout in which a product reads a right operand that is stored so: panels in bfloat16, unchanged in f32.
Desc right_operand_desc(const Desc& stored, DType type, bool is_turned) {
    if (type == DType::f32) return stored;
    return is_turned ? turned_right_tiles_desc(stored) : right_tiles_desc(stored);
}

/// Scratch memory of a product by tiles.
auto tile_scratch(const NodeContext& lower, DType type) {
    return lower.steps.scratch_floats(tile_scratch_floats(tile_unit(type).value(), omp_get_max_threads()));
}

/// result = left * right (+ bias), all of one type, the left operand row-major.
void add_tile_product(const NodeContext& lower, const TileProduct& product, const Placed& left, const Placed& right,
                      const Placed& bias, const Placed& result) {
    const TileUnit unit = tile_unit(left.dtype).value();
    const auto scratch = tile_scratch(lower, left.dtype);
    std::vector<Placed> reads = {left, right};
    if (bias) reads.push_back(bias);
    lower.steps.add("tiles", reads, {result}, [=](const StepContext&) {
        const float* const added = bias.as<float>();
        if (unit == TileUnit::multiply_adds) {
            tile_product(product, {left.as<float>()}, right.as<float>(), added, {result.as<float>()}, scratch());
        } else {
            tile_product(unit, product, {left.as<BFloat16>()}, right.as<BFloat16>(), added, result.as<BFloat16>(),
                         scratch());
        }
    });
}

void lower_dense_by_tiles(const NodeContext& lower, const DenseShape& shape, DType type) {
    const auto& attrs = lower.node.as<DenseAttrs>();
    const auto& inputs = lower.node.inputs;
    const ValueId y = lower.node.outputs[0];
    const Desc stored = shape.stored(attrs.transposed, type);
    const Placed x = lower.values.in_order(inputs[0]);
    const Placed w = lower.weights.prepared(inputs[1], right_operand_desc(stored, type, attrs.transposed));
    const Placed bias = attrs.bias ? lower.values.float_vector(inputs[2]) : Placed{};
    const Placed result = lower.values.define(y);
    add_tile_product(lower, {shape.rows, shape.inputs, shape.outputs}, x, w, bias, result);
}

void lower_input_grad_by_tiles(const NodeContext& lower, const DenseShape& shape, DType type) {
    const bool is_transposed = lower.node.as<DenseAttrs>().transposed;
    const auto& inputs = lower.node.inputs;
    const ValueId dx = lower.node.outputs[0];
    const Desc stored = shape.stored(is_transposed, type);
    const Placed dy = lower.values.in_order(inputs[0]);
    const Placed w = lower.weights.prepared(inputs[1], right_operand_desc(stored, type, !is_transposed));
    const Placed result = lower.values.define(dx);
    add_tile_product(lower, {shape.rows, shape.outputs, shape.inputs}, dy, w, {}, result);
}

void lower_dense(const NodeContext& lower) {
    const auto& attrs = lower.node.as<DenseAttrs>();
    const auto& inputs = lower.node.inputs;
    const ValueId y = lower.node.outputs[0];
    const TensorDesc& x_desc = lower.graph.desc(inputs[0]);
    const TensorDesc& y_desc = lower.graph.desc(y);
    const DenseShape shape(x_desc, y_desc);
    const DType type = x_desc.dtype;
    const std::int64_t all_rows = shape.rows * lower.micro_batches;
    if (is_for_tiles({shape.rows, shape.inputs, shape.outputs}, type, all_rows, attrs.transposed))
        return lower_dense_by_tiles(lower, shape, type);
    // A copy serves all micro-batches of an update. Transposed weights are read fast as they are.
    const bool copies = !attrs.transposed && pays_for_copy(all_rows, type);
    const Desc weight = shape.weight(attrs.transposed, type);
    const Division division(lower, shape.rows);
    const Primitive product = division.plan([&] {
        return lower.onednn.matmul(division.part_of(matrix_desc(shape.rows, shape.inputs, type)),
                                   copies ? any_layout(weight) : weight,
                                   division.part_of(matrix_desc(shape.rows, shape.outputs, type)), attrs.bias);
    });
    const Placed x = viewed(lower.values.in_order(inputs[0]), product.src);
    const Desc kept = copies ? product.weights : shape.stored(attrs.transposed, type);
    const Placed w = viewed(lower.weights.prepared(inputs[1], kept), product.weights);
    Arguments arguments = {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}};
    if (attrs.bias) arguments.emplace_back(DNNL_ARG_BIAS, viewed(lower.values.float_vector(inputs[2]), product.bias));
    arguments.emplace_back(DNNL_ARG_DST, viewed(lower.values.define(y, row_major(y_desc)), product.dst));
    division.add(lower, product, arguments, {{DNNL_ARG_SRC, product.src}, {DNNL_ARG_DST, product.dst}}, {DNNL_ARG_DST});
}

void lower_dense_input_grad(const NodeContext& lower) {
    const bool is_transposed = lower.node.as<DenseAttrs>().transposed;
    const auto& inputs = lower.node.inputs;
    const ValueId dx = lower.node.outputs[0];
    const TensorDesc& dy_desc = lower.graph.desc(inputs[0]);
    const TensorDesc& dx_desc = lower.graph.desc(dx);
    const DenseShape shape(dx_desc, dy_desc);
    const DType type = dy_desc.dtype;
    const std::int64_t all_rows = shape.rows * lower.micro_batches;
    if (is_for_tiles({shape.rows, shape.outputs, shape.inputs}, type, all_rows, !is_transposed))
        return lower_input_grad_by_tiles(lower, shape, type);
    const Division division(lower, shape.rows);
    const Primitive product = division.plan([&] {
        return lower.onednn.matmul(division.part_of(matrix_desc(shape.rows, shape.outputs, type)),
                                   shape.turned_weight(is_transposed, type),
                                   division.part_of(matrix_desc(shape.rows, shape.inputs, type)), false);
    });
    const Placed dy = viewed(lower.values.in_order(inputs[0]), product.src);
    const Placed w = viewed(lower.weights.prepared(inputs[1], shape.stored(is_transposed, type)), product.weights);
    const Placed result = viewed(lower.values.define(dx, row_major(dx_desc)), product.dst);
    division.add(lower, product, {{DNNL_ARG_SRC, dy}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, result}},
                 {{DNNL_ARG_SRC, product.src}, {DNNL_ARG_DST, product.dst}}, {DNNL_ARG_DST});
}

/// The gradient of a weight, left^T * right: x^T * dy, or dy^T * x where the weight is transposed.
struct WeightGrad {
    WeightGrad(const graph::Graph& graph, const graph::Node& node) {
        const bool is_transposed = node.as<DenseAttrs>().transposed;
        left = node.inputs[is_transposed ? 1 : 0];
        right = node.inputs[is_transposed ? 0 : 1];
        const TensorDesc& left_desc = graph.desc(left);
        type = left_desc.dtype;
        product.rows = left_desc.shape.back();
        product.inner = left_desc.elements() / left_desc.shape.back();
        product.columns = graph.desc(right).shape.back();
        result_fits = type == DType::bf16 || graph.desc(node.outputs[0]).dtype == DType::f32;
    }
    bool uses_tiles() const { return result_fits && is_for_tiles(product, type, product.rows, false); }
    /// The operands as matrices.
    Desc left_matrix() const { return matrix_desc(product.inner, product.rows, type); }
    Desc right_matrix() const { return matrix_desc(product.inner, product.columns, type); }

    ValueId left, right;
    DType type = DType::f32;
    TileProduct product;
    bool result_fits = false;  // a product by tiles
};

/// left^T * right into a result in f32 or bfloat16.
struct PlacedProduct {
    PlacedProduct(const NodeContext& lower, const WeightGrad& grad)
        : product(grad.product), unit(tile_unit(grad.type).value()), scratch(tile_scratch(lower, grad.type)) {
        const std::string reason = "the layout that tile products read";
        const bool is_float = grad.type == DType::f32;
        left = is_float ? lower.values.in_order(grad.left)
                        : lower.values.relaid(grad.left, grad.left_matrix(), turned_left_tiles_desc(grad.left_matrix()),
                                              reason);
        right = is_float ? lower.values.in_order(grad.right)
                         : lower.values.relaid(grad.right, grad.right_matrix(), right_tiles_desc(grad.right_matrix()),
                                               reason);
    }

    void run(const TileResult& result) const {
        if (unit == TileUnit::multiply_adds) {
            tile_product(product, {left.as<float>(), true}, right.as<float>(), nullptr, result, scratch());
        } else {
            tile_product(unit, product, {left.as<BFloat16>(), true}, right.as<BFloat16>(), result, scratch());
        }
    }
    void run(BFloat16* result) const {
        tile_product(unit, product, {left.as<BFloat16>(), true}, right.as<BFloat16>(), nullptr, result, scratch());
    }

    TileProduct product;
    TileUnit unit;
    std::function<std::span<float>()> scratch;
    Placed left, right;
};

void lower_weight_grad_by_tiles(const NodeContext& lower, const WeightGrad& grad) {
    const PlacedProduct product(lower, grad);
    const std::vector<Placed> operands = {product.left, product.right};
    const ValueId dw = lower.node.outputs[0];
    const DType type = lower.graph.desc(dw).dtype;
    const Desc result_matrix = matrix_desc(grad.product.rows, grad.product.columns, type);
    if (type == DType::bf16) {
        const Placed result = lower.values.define(dw, result_matrix);
        return lower.steps.add("tiles", operands, {result},
                               [=](const StepContext&) { product.run(result.as<BFloat16>()); });
    }
    const auto run = [=](const Placed& result, bool adds, const Placed& squares) {
        product.run({result.as<float>(), adds, squares.as<float>()});
    };
    if (const auto sum = lower.sums.accumulator(dw, result_matrix)) {
        const Placed squares = sum->ends ? lower.sums.place_squares(dw, grad.product.blocks()) : Placed{};
        lower.steps.add("tiles", {product.left, product.right, sum->placed}, {sum->placed},
                        lower.sums.summing(*sum, [=](bool is_first) { run(sum->placed, !is_first, squares); }));
        return;
    }
    const Placed result = lower.values.define(dw, result_matrix);
    const Placed squares = lower.sums.place_squares(dw, grad.product.blocks());
    lower.steps.add("tiles", operands, {result}, [=](const StepContext&) { run(result, false, squares); });
}

/// Adds the steps of a weight gradient; with several micro-batches, the product adds to their sum.
void lower_dense_weight_grad(const NodeContext& lower) {
    const WeightGrad grad(lower.graph, lower.node);
    if (grad.uses_tiles()) return lower_weight_grad_by_tiles(lower, grad);
    const ValueId dw = lower.node.outputs[0];
    const std::int64_t m = grad.product.rows;
    const Desc left_matrix = matrix_desc(m, grad.product.inner, grad.type, true);
    const Desc right_matrix = grad.right_matrix();
    const Desc result_matrix = matrix_desc(m, grad.product.columns, lower.graph.desc(dw).dtype);
    const Division division(lower, m);
    const Primitive product = division.plan([&] {
        return lower.onednn.matmul(division.part_of(left_matrix),
                                   pays_for_copy(m, grad.type) ? any_layout(right_matrix) : right_matrix,
                                   division.part_of(result_matrix), false);
    });
    const Placed a = viewed(lower.values.in_order(grad.left), product.src);
    const Placed b =
        lower.values.relaid(grad.right, right_matrix, product.weights, "the layout that the product is fastest with");
    const Arguments operands = {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}};
    const auto with_result = [&](const Placed& result) {
        Arguments all = operands;
        all.emplace_back(DNNL_ARG_DST, viewed(result, product.dst));
        return all;
    };
    if (division.is_on()) {
        const std::vector<DividedArgument> divided = {{DNNL_ARG_SRC, product.src}, {DNNL_ARG_DST, product.dst}};
        if (lower.graph.desc(dw).dtype != DType::f32) {
            return division.add(lower, product, with_result(lower.values.define(dw, result_matrix)), divided,
                                {DNNL_ARG_DST});
        }
        const std::int64_t count = m * grad.product.columns;
        const Sums::Gradient gradient = lower.sums.define_gradient(dw, result_matrix);
        const Placed parts = lower.steps.temporary("parts", result_matrix, DType::f32);
        division.add(lower, product, with_result(parts), divided, {DNNL_ARG_DST});
        return lower.sums.add_gradient_step(gradient, "sum", {parts},
                                            [=](float* to) { sum_parts(1, count, parts.as<float>(), to); });
    }
    if (const auto sum = lower.sums.accumulator(dw, product.dst)) {
        const Primitive further = lower.onednn.accumulating_matmul(left_matrix, product.weights, result_matrix);
        return lower.sums.add_primitives(*sum, product, further, with_result(sum->placed));
    }
    lower.steps.add_primitive(product, with_result(lower.values.define(dw, product.dst)), {DNNL_ARG_DST});
}

/// The weight gradient in the current section that reads a bfloat16 tile copy of this value as its right operand, if
/// there is one.
std::optional<WeightGrad> reader_of_copy(const NodeContext& lower, ValueId gradient) {
    for (const graph::NodeId user : lower.graph.value(gradient).users) {
        const graph::Node& reader = lower.graph.node(user);
        if (reader.kind != graph::OpKind::dense_weight_grad || lower.walk.section_of(user) != lower.walk.section())
            continue;
        const WeightGrad grad(lower.graph, reader);
        if (grad.right == gradient && grad.type == DType::bf16 && grad.uses_tiles()) return grad;
    }
    return std::nullopt;
}

/// Sums the columns while copying them for the tile product, because both are bound by memory.
void lower_bias_grad_with_copy(const NodeContext& lower, const WeightGrad& reader) {
    const ValueId db = lower.node.outputs[0];
    const Placed dy = lower.values.in_order(reader.right);
    const Placed copy = lower.values.define_copy(reader.right, right_tiles_desc(reader.right_matrix()));
    const Placed result = lower.values.define(db);
    const Panels panels = panels_of(copy.desc).value();
    const auto scratch = lower.steps.scratch_floats(panel_sums_scratch_floats(panels));
    lower.steps.add("kernel", {dy}, {result, copy}, [=](const StepContext&) {
        copy_to_panels_and_sum(panels, dy.as<BFloat16>(), copy.as<BFloat16>(), result.as<float>(), scratch());
    });
}

void lower_bias_grad(const NodeContext& lower) {
    const ValueId db = lower.node.outputs[0];
    const ValueId gradient = lower.node.inputs[0];
    if (const auto reader = reader_of_copy(lower, gradient)) return lower_bias_grad_with_copy(lower, *reader);
    const Placed dy = lower.values.operand(gradient);
    const Placed result = lower.values.define(db);
    const Blocks shape = lower.layouts.channel_blocks(gradient, dy);
    const auto scratch = lower.steps.scratch_floats(norm_scratch_floats(shape));
    add_typed(lower, dy.dtype, "kernel", {dy}, {result},
              [=]<typename T>(const StepContext&) { bias_grad(shape, dy.as<T>(), result.as<float>(), scratch()); });
}

// Batched matrix products: operands are transposed, and read where views have left them, through their strides.

using graph::MatmulAttrs;

/// The same memory with the last two axes exchanged.
Placed transposed(Placed tensor, bool wanted) {
    if (!wanted) return tensor;
    const auto rank = static_cast<int>(strides_of(tensor.desc).size());
    std::vector<int> place(static_cast<std::size_t>(rank - 2));
    std::iota(place.begin(), place.end(), 0);
    place.insert(place.end(), {rank - 1, rank - 2});
    tensor.desc = tensor.desc.permute_axes(place);
    return tensor;
}

void lower_batched_matmul(const NodeContext& lower) {
    const auto& attrs = lower.node.as<MatmulAttrs>();
    const auto& inputs = lower.node.inputs;
    const ValueId y = lower.node.outputs[0];
    const Desc result_desc = row_major(lower.graph.desc(y));
    Placed a = transposed(lower.values.strided(inputs[0]), attrs.transpose_a);
    Placed b = transposed(lower.values.strided(inputs[1]), attrs.transpose_b);
    const bool is_single = lower.graph.desc(y).shape.size() == 2;  // its rows are divided, which share all of b
    const Division division(lower, lower.graph.desc(y).shape[0]);
    const auto plan = [&] {
        return division.plan([&] {
            return lower.onednn.matmul(division.part_of(a.desc), is_single ? b.desc : division.part_of(b.desc),
                                       division.part_of(result_desc), false);
        });
    };
    Primitive product = plan();
    if (product.is_naive()) {  // for these strides
        a = transposed(lower.values.in_order(inputs[0]), attrs.transpose_a);
        b = transposed(lower.values.in_order(inputs[1]), attrs.transpose_b);
        product = plan();
    }
    const Placed result = lower.values.define(y, result_desc);
    std::vector<DividedArgument> divided = {{DNNL_ARG_SRC, product.src}, {DNNL_ARG_DST, product.dst}};
    if (!is_single) divided.push_back({DNNL_ARG_WEIGHTS, product.weights});
    division.add(lower, product, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, result}}, divided,
                 {DNNL_ARG_DST});
}

}  // namespace

std::span<const LoweringEntry> dense_lowerings() {
    static constexpr LoweringEntry kLowerings[] = {
        {graph::OpKind::dense, lower_dense, kPrimitive},
        {graph::OpKind::dense_input_grad, lower_dense_input_grad, kPrimitive},
        {graph::OpKind::dense_weight_grad, lower_dense_weight_grad, kPrimitive},
        {graph::OpKind::bias_grad, lower_bias_grad},
        {graph::OpKind::batched_matmul, lower_batched_matmul, kPrimitive},
    };
    return kLowerings;
}

}  // namespace cnntrain::cpu
