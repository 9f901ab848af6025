#include <algorithm>
#include <poplin/MatMul.hpp>

#include "ipu_emulator/lowering/products.h"
#include "ipu_emulator/numerics/random.h"

namespace ipu_emulator {
namespace {

PartialPolicy policy(const poplar::OptionFlags& options, poplar::Type input) {
    number_option(options, "availableMemoryProportion", 0.6);
    choice_option(options, "partialsType.interTile", {"float", "half"});
    choice_option(options, "partialsType.interIPU", {"float", "half"});
    for (const char* name : {"use128BitConvUnitLoad", "enableMultiStageReduce", "enableFastReduce", "remapOutputTensor",
                             "enableSingleInputReduce", "enableConvDithering", "gatherConvOutput", "gatherOutput",
                             "inputRHSIsPreArranged"})
        bool_option(options, name, false);
    const bool half = choice_option(options, "partialsType", {"float", "half"}) == "half";
    const bool nearest = bool_option(options, "disableSRForAMPVertices", false);
    return {.half = half && input == poplar::HALF, .stochastic = !nearest};
}

/// Checks the options of a matrix product and returns how it rounds.
PartialPolicy matmul_policy(const poplar::OptionFlags& options, poplar::Type input) {
    check_options("poplin: options of a matrix product", options,
                  {"availableMemoryProportion", "partialsType", "partialsType.interTile", "partialsType.interIPU",
                   "fullyConnectedPass", "inputRHSIsPreArranged", "use128BitConvUnitLoad", "enableMultiStageReduce",
                   "enableFastReduce", "remapOutputTensor", "enableConvDithering", "gatherOutput",
                   "disableSRForAMPVertices", "planConstraints"});
    choice_option(options, "fullyConnectedPass",
                  {"NONE", "INFERENCE_FWD", "TRAINING_FWD", "TRAINING_BWD", "TRAINING_WU"});
    return policy(options, input);
}

std::string options_text(const poplar::OptionFlags& options) {
    std::string text;
    for (const auto& [name, value] : options)
        text += name + "=" + value + ";";
    return text;
}

}  // namespace

PartialPolicy conv_policy(const poplar::OptionFlags& options, poplar::Type input) {
    check_options("poplin: options of a convolution", options,
                  {"availableMemoryProportion", "partialsType", "partialsType.interTile", "partialsType.interIPU",
                   "pass", "use128BitConvUnitLoad", "enableMultiStageReduce", "enableFastReduce",
                   "enableSingleInputReduce", "remapOutputTensor", "enableConvDithering", "gatherConvOutput",
                   "disableSRForAMPVertices", "planConstraints", "planConstraintsOutputFilename"});
    choice_option(options, "pass",
                  {"NONE", "NONE_MATMUL", "INFERENCE_FWD", "TRAINING_FWD", "TRAINING_BWD", "TRAINING_WU",
                   "FC_INFERENCE_FWD", "FC_TRAINING_FWD", "FC_TRAINING_BWD", "FC_TRAINING_WU"});
    return policy(options, input);
}

void note_plan(poplin::PlanningCache* cache, const poplin::ConvParams& params, const poplar::OptionFlags& options,
               const std::string& what) {
    if (cache == nullptr) return;
    std::string key = what + params.inputType.toString() + ">" + params.outputType.toString();
    const auto add = [&](const auto& values) {
        key += "|";
        for (const auto value : values)
            key += std::to_string(value) + ",";
    };
    add(std::vector<std::size_t>{params.batchSize, params.numConvGroups, params.inputChannelsPerGroup,
                                 params.outputChannelsPerGroup});
    add(params.inputFieldShape);
    add(params.kernelShape);
    for (const auto* t : {&params.inputTransform, &params.kernelTransform}) {
        for (const auto* list :
             {&t->truncationLower, &t->truncationUpper, &t->dilation, &t->paddingLower, &t->paddingUpper})
            add(*list);
        add(t->flip);
    }
    const auto& t = params.outputTransform;
    for (const auto* list : {&t.truncationLower, &t.truncationUpper, &t.stride, &t.paddingLower, &t.paddingUpper})
        add(*list);
    Access::keys(*cache).keys.insert(key + options_text(options));
}

ProductRounding product_rounding(OpRun& run, const PartialPolicy& policy, std::size_t first) {
    ProductRounding rounding{.overflow = run.control().overflow()};
    if (!policy.half) return rounding;
    rounding.partials = PartialRounding::nearest;
    if (policy.stochastic && run.control().stochastic) {
        rounding.partials = PartialRounding::stochastic;
        rounding.key = mix(run.key(run.write().regions().span_of(first).tile), first);
    }
    return rounding;
}

const float* pack_columns(OpRun& run, const Columns& c) {
    const std::size_t panels = (c.columns + kPanel - 1) / kPanel;
    auto* packed = run.scratch<float>(c.groups * panels * c.depth * kPanel);
    run.parallel(c.groups * panels, [&](std::size_t task) {
        const std::size_t first = task % panels * kPanel;
        const std::size_t columns = std::min(kPanel, c.columns - first);
        const float* from = c.from + task / panels * c.group_stride + first;
        float* to = packed + task * c.depth * kPanel;
        for (std::size_t k = 0; k < c.depth; ++k, from += c.row_stride, to += kPanel) {
            std::copy_n(from, columns, to);
            std::fill(to + columns, to + kPanel, 0.0f);
        }
    });
    return packed;
}

}  // namespace ipu_emulator

namespace poplin {

PlanningCache::PlanningCache() : keys_(std::make_unique<ipu_emulator::PlanKeys>()) {}
PlanningCache::~PlanningCache() = default;

std::size_t PlanningCache::size() const {
    return keys_->keys.size();
}

}  // namespace poplin

namespace ipu_emulator {
namespace {

using poplar::Tensor;

/// Remembers the plan of a product.
void note_matmul(poplin::PlanningCache* cache, poplar::Type input, poplar::Type output,
                 const std::vector<std::size_t>& aShape, const std::vector<std::size_t>& bShape,
                 const poplar::OptionFlags& options) {
    if (cache == nullptr) return;
    Access::keys(*cache).keys.insert("product " + input.toString() + ">" + output.toString() + shape_text(aShape) +
                                     shape_text(bShape) + options_text(options));
}

constexpr std::size_t kProductRows = 48;

struct ProductShape {
    std::size_t groups = 1;
    std::size_t rows = 1;
    std::size_t depth = 1;
    std::size_t columns = 1;

    std::size_t panels() const { return (columns + kPanel - 1) / kPanel; }
};

void product_block(OpRun& run, const ProductShape& s, const PartialPolicy& policy, const float* packed,
                   std::size_t group, std::size_t first, std::size_t rows) {
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
    run.write().store(first_element, rows * s.columns, sums);
}

void run_product(OpRun& run, const ProductShape& s, const PartialPolicy& policy) {
    const float* packed = pack_columns(run, {.from = load_all(run, run.read(1)),
                                             .groups = s.groups,
                                             .depth = s.depth,
                                             .columns = s.columns,
                                             .group_stride = s.depth * s.columns,
                                             .row_stride = s.columns});
    const std::size_t blocks = (s.rows + kProductRows - 1) / kProductRows;
    run.parallel(s.groups * blocks, [&](std::size_t task) {
        const std::size_t first = task % blocks * kProductRows;
        product_block(run, s, policy, packed, task / blocks, first, std::min(kProductRows, s.rows - first));
    });
}

/// A and B have a dimension of groups.
void add_product(const Tensor& A, const Tensor& B, const Tensor& C, poplar::program::Sequence& prog,
                 const std::string& name, const poplar::OptionFlags& options, poplin::PlanningCache* cache) {
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
    note_matmul(cache, A.elementType(), C.elementType(), A.shape(), B.shape(), options);
    add_op(prog, {.name = name, .reads = {A, B}, .writes = {C}, .draws = draws_of(policy), .run = [=](OpRun& run) {
                      run_product(run, s, policy);
                  }});
}

Tensor grouped(const Tensor& t, const std::string& name) {
    require(t.rank() == 2, name, "expected a matrix, got " + t.shapeToString());
    return t.expand({0});
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

Tensor matMulGrouped(poplar::Graph& graph, const Tensor& A, const Tensor& B, Sequence& prog,
                     const poplar::Type& outputType, const poplar::DebugContext& debugContext,
                     const poplar::OptionFlags& options, PlanningCache* cache) {
    const std::string name = op_name(debugContext, "matMul");
    require(A.rank() == 3 && B.rank() == 3, name,
            "expected groups of matrices, got " + A.shapeToString() + " and " + B.shapeToString());
    Tensor out = new_tensor(graph, outputType, {A.dim(0), A.dim(1), B.dim(2)}, name);
    add_product(A, B, out, prog, name, options, cache);
    return out;
}

Tensor createMatMulInputRHS(poplar::Graph& graph, const poplar::Type& dataType, const std::vector<std::size_t>& aShape,
                            const std::vector<std::size_t>& bShape, const poplar::DebugContext& debugContext,
                            const poplar::OptionFlags& options, PlanningCache* cache) {
    matmul_policy(options, dataType);
    note_matmul(cache, dataType, dataType, aShape, bShape, options);
    return new_tensor(graph, dataType, bShape, op_name(debugContext, "matrix"));
}

}  // namespace poplin
