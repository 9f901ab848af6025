#include <poplin/MatMul.hpp>

#include <algorithm>
#include <optional>

#include "ipu_emulator/lowering/products.h"

namespace ipu_emulator {

void note_matmul(poplin::PlanningCache* cache, const poplin::MatMulParams& params, const poplar::OptionFlags& options) {
    if (cache == nullptr) return;
    Access::keys(*cache).keys.insert("product " + params.inputType.toString() + ">" + params.outputType.toString() +
                                     shape_text(params.aShape) + shape_text(params.bShape) + options_text(options));
}

namespace {

using poplar::Tensor;

constexpr std::size_t kProductRows = 48;

struct ProductShape {
    std::size_t groups = 1;
    std::size_t rows = 1;
    std::size_t depth = 1;
    std::size_t columns = 1;

    std::size_t panels() const { return (columns + kPanel - 1) / kPanel; }
};

void product_block(OpRun& run, const ProductShape& s, const PartialPolicy& policy, const ProductResult& how,
                   const float* packed, std::size_t group, std::size_t first, std::size_t rows) {
    LocalScratch local;
    const PackedColumns right{.data = packed + group * s.panels() * s.depth * kPanel,
                              .columns = s.columns,
                              .full = {s.depth / kGroup, kGroup},
                              .rest = {s.depth % kGroup != 0 ? std::size_t{1} : 0, s.depth % kGroup}};
    const std::size_t first_row = group * s.rows + first;
    float* left = local.take<float>(rows * s.depth);
    run.read(0).load(first_row * s.depth, rows * s.depth, left);
    const float** pointers = local.take<const float*>(rows * right.groups());
    for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t g = 0; g < right.groups(); ++g)
            pointers[r * right.groups() + g] = left + r * s.depth + g * kGroup;
    }
    const std::size_t width = s.panels() * kPanel;
    float* sums = local.take<float>(rows * width);
    std::fill_n(sums, rows * width, 0.0f);
    const std::size_t first_element = first_row * s.columns;
    const ProductRounding rounding = product_rounding(run, policy, first_element);
    if (multiply_rows(right, pointers, rows, nullptr, sums, rounding, [](std::size_t r) { return r; }))
        run.report(kOverflowed);
    for (std::size_t r = 1; width != s.columns && r < rows; ++r)
        std::copy_n(sums + r * width, s.columns, sums + r * s.columns);
    store_product(run, how, first_element, rows * s.columns, sums);
}

void run_product(OpRun& run, const ProductShape& s, const PartialPolicy& policy, const ProductResult& how) {
    const float* packed = pack_columns(run, {.from = load_all(run, run.read(1)),
                                             .groups = s.groups,
                                             .depth = s.depth,
                                             .columns = s.columns,
                                             .group_stride = s.depth * s.columns,
                                             .row_stride = s.columns});
    const std::size_t blocks = (s.rows + kProductRows - 1) / kProductRows;
    run.parallel(s.groups * blocks, [&](std::size_t task) {
        const std::size_t first = task % blocks * kProductRows;
        product_block(run, s, policy, how, packed, task / blocks, first, std::min(kProductRows, s.rows - first));
    });
}

/// A and B have a dimension of groups. With a number, the product times number and scale is added to C.
void add_product(const Tensor& A, const Tensor& B, const Tensor& C, const std::vector<Tensor>& scale,
                 std::optional<float> number, poplar::program::Sequence& prog, const std::string& name,
                 const poplar::OptionFlags& options, poplin::PlanningCache* cache) {
    const PartialPolicy policy = matmul_policy(options, A.elementType());
    require(A.rank() == 3 && B.rank() == 3 && A.dim(0) == B.dim(0) && A.dim(2) == B.dim(1), name,
            "the shapes " + A.shapeToString() + " and " + B.shapeToString() + " do not fit");
    require(A.elementType() == B.elementType() && is_float(A.elementType()), name,
            "expected operands of half or of float, got " + A.elementType().toString() + " and " +
                B.elementType().toString());
    const ProductShape s{A.dim(0), A.dim(1), A.dim(2), B.dim(2)};
    const std::vector<std::size_t> shape{s.groups, s.rows, s.columns};
    require(C.shape() == shape && is_float(C.elementType()), name,
            "the result is " + C.shapeToString() + ", expected " + shape_text(shape));
    note_matmul(cache, {A.elementType(), C.elementType(), A.shape(), B.shape()}, options);
    HostOp op{.name = name,
              .reads = {apart_from(C, A, prog, name), apart_from(C, B, prog, name)},
              .writes = {C},
              .draws = draws_of(policy)};
    const ProductResult how = number.has_value() ? make_update(op, C, scale, *number) : ProductResult();
    op.run = [=](OpRun& run) { run_product(run, s, policy, how); };
    add_op(prog, std::move(op));
}

Tensor grouped(const Tensor& t, const std::string& name) {
    require(t.rank() == 2, name, "expected a matrix, got " + t.shapeToString());
    return t.expand({0});
}

Tensor new_matrix(poplar::Graph& graph, const poplin::MatMulParams& params, poplar::Type type,
                  const std::vector<std::size_t>& shape, const poplar::DebugContext& debugContext,
                  const poplar::OptionFlags& options, poplin::PlanningCache* cache) {
    matmul_policy(options, params.inputType);
    note_matmul(cache, params, options);
    return new_tensor(graph, type, shape, op_name(debugContext, "matrix"));
}

/// [G][M][N] of [G][M][K] and [G][K][N], or without groups.
std::vector<std::size_t> product_shape(std::vector<std::size_t> a, const std::vector<std::size_t>& b) {
    require(a.size() >= 2 && b.size() == a.size() && a.back() == b[b.size() - 2], "poplin::createMatMulOutput",
            "the shapes " + shape_text(a) + " and " + shape_text(b) + " do not fit");
    a.back() = b.back();
    return a;
}

}  // namespace
}  // namespace ipu_emulator

namespace poplin {

using namespace ipu_emulator;
using poplar::Tensor;
using poplar::program::Sequence;

Tensor matMul(poplar::Graph& graph, const Tensor& A, const Tensor& B, Sequence& prog, const poplar::Type& outputType,
              const poplar::DebugContext& debugContext, const poplar::OptionFlags& options, PlanningCache* cache) {
    const std::string name = op_name(debugContext, "matMul");
    return matMulGrouped(graph, grouped(A, name), grouped(B, name), prog, outputType, debugContext, options, cache)[0];
}

Tensor matMul(poplar::Graph& graph, const Tensor& A, const Tensor& B, Sequence& prog,
              const poplar::DebugContext& debugContext, const poplar::OptionFlags& options, PlanningCache* cache) {
    return matMul(graph, A, B, prog, A.elementType(), debugContext, options, cache);
}

Tensor matMulGrouped(poplar::Graph& graph, const Tensor& A, const Tensor& B, Sequence& prog,
                     const poplar::Type& outputType, const poplar::DebugContext& debugContext,
                     const poplar::OptionFlags& options, PlanningCache* cache) {
    const std::string name = op_name(debugContext, "matMul");
    require(A.rank() == 3 && B.rank() == 3, name,
            "expected groups of matrices, got " + A.shapeToString() + " and " + B.shapeToString());
    const Tensor out = new_tensor(graph, outputType, {A.dim(0), A.dim(1), B.dim(2)}, name);
    add_product(A, B, out, {}, std::nullopt, prog, name, options, cache);
    return out;
}

void matMulAcc(poplar::Graph& graph, const Tensor& C, float k, const Tensor& A, const Tensor& B, Sequence& prog,
               const poplar::DebugContext& debugContext, const poplar::OptionFlags& options, PlanningCache* cache) {
    const std::string name = op_name(debugContext, "matMulAcc");
    matMulGroupedAcc(graph, grouped(C, name), k, grouped(A, name), grouped(B, name), prog, debugContext, options,
                     cache);
}

void matMulAcc(poplar::Graph& graph, const Tensor& C, const Tensor& k, const Tensor& A, const Tensor& B, Sequence& prog,
               const poplar::DebugContext& debugContext, const poplar::OptionFlags& options, PlanningCache* cache) {
    const std::string name = op_name(debugContext, "matMulAcc");
    matMulGroupedAcc(graph, grouped(C, name), k, grouped(A, name), grouped(B, name), prog, debugContext, options,
                     cache);
}

void matMulGroupedAcc(poplar::Graph&, const Tensor& C, float k, const Tensor& A, const Tensor& B, Sequence& prog,
                      const poplar::DebugContext& debugContext, const poplar::OptionFlags& options,
                      PlanningCache* cache) {
    add_product(A, B, C, {}, k, prog, op_name(debugContext, "matMulAcc"), options, cache);
}

void matMulGroupedAcc(poplar::Graph&, const Tensor& C, const Tensor& k, const Tensor& A, const Tensor& B,
                      Sequence& prog, const poplar::DebugContext& debugContext, const poplar::OptionFlags& options,
                      PlanningCache* cache) {
    add_product(A, B, C, {k}, 1.0f, prog, op_name(debugContext, "matMulAcc"), options, cache);
}

#define CREATE_MATRIX(NAME, TYPE, SHAPE)                                                                              \
    Tensor NAME(poplar::Graph& graph, const poplar::Type& inputType, const poplar::Type& outputType,                  \
                const std::vector<std::size_t>& aShape, const std::vector<std::size_t>& bShape,                       \
                const poplar::DebugContext& debugContext, const poplar::OptionFlags& options, PlanningCache* cache) { \
        return new_matrix(graph, {inputType, outputType, aShape, bShape}, TYPE, SHAPE, debugContext, options, cache); \
    }

CREATE_MATRIX(createMatMulInputLHS, inputType, aShape)
CREATE_MATRIX(createMatMulInputRHS, inputType, bShape)
CREATE_MATRIX(createMatMulOutput, outputType, product_shape(aShape, bShape))
CREATE_MATRIX(createMatMulGroupedInputLHS, inputType, aShape)
CREATE_MATRIX(createMatMulGroupedInputRHS, inputType, bShape)
CREATE_MATRIX(createMatMulGroupedOutput, outputType, product_shape(aShape, bShape))

#undef CREATE_MATRIX

Tensor createMatMulInputLHS(poplar::Graph& graph, const poplar::Type& dataType, const std::vector<std::size_t>& aShape,
                            const std::vector<std::size_t>& bShape, const poplar::DebugContext& debugContext,
                            const poplar::OptionFlags& options, PlanningCache* cache) {
    return createMatMulInputLHS(graph, dataType, dataType, aShape, bShape, debugContext, options, cache);
}

Tensor createMatMulInputRHS(poplar::Graph& graph, const poplar::Type& dataType, const std::vector<std::size_t>& aShape,
                            const std::vector<std::size_t>& bShape, const poplar::DebugContext& debugContext,
                            const poplar::OptionFlags& options, PlanningCache* cache) {
    return createMatMulInputRHS(graph, dataType, dataType, aShape, bShape, debugContext, options, cache);
}

Tensor createMatMulOutput(poplar::Graph& graph, const poplar::Type& dataType, const std::vector<std::size_t>& aShape,
                          const std::vector<std::size_t>& bShape, const poplar::DebugContext& debugContext,
                          const poplar::OptionFlags& options, PlanningCache* cache) {
    return createMatMulOutput(graph, dataType, dataType, aShape, bShape, debugContext, options, cache);
}

}  // namespace poplin
