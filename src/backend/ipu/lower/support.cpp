#include "backend/ipu/lower/support.h"

#include <numeric>
#include <string>
#include <vector>

#include <popnn/NonLinearity.hpp>
#include <popops/Cast.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Encoding.hpp>
#include <popops/Reduce.hpp>
#include <poputil/TileMapping.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/rng.h"

namespace cnntrain::ipu {
namespace {

using Family = std::span<const LoweringEntry> (*)();

constexpr Family kFamilies[] = {
    attention_lowerings, conv_lowerings,       dense_lowerings, gate_lowerings,   loss_lowerings, norm_lowerings,
    pointwise_lowerings, proxy_norm_lowerings, token_lowerings, update_lowerings, view_lowerings,
};

}  // namespace

const LoweringEntry* lowering_of(graph::OpKind kind) {
    for (const Family family : kFamilies) {
        for (const LoweringEntry& entry : family()) {
            if (entry.kind == kind) return &entry;
        }
    }
    return nullptr;
}

const poplar::Tensor& DeviceValues::of(graph::ValueId value) const {
    const poplar::Tensor& tensor = tensors_.at(index(value));
    CNNTRAIN_CHECK(tensor.valid(), "a value is read before it is made: " + graph_.value(value).name);
    return tensor;
}

void DeviceValues::set(graph::ValueId value, const poplar::Tensor& tensor) {
    const TensorDesc& desc = graph_.desc(value);
    CNNTRAIN_CHECK(
        tensor.shape() == extents(desc.shape) && tensor.elementType() == device_type(desc.dtype),
        "a lowering made " + tensor.elementType().toString() + tensor.shapeToString() + ", not " + to_string(desc));
    tensors_.at(index(value)) = tensor;
}

poplar::Type NodeContext::output_type(std::size_t i) const {
    return device_type(output_desc(i).dtype);
}

poplar::Tensor NodeContext::cast(const poplar::Tensor& tensor, const poplar::Type& type) const {
    return tensor.elementType() == type ? tensor : popops::cast(device, tensor, type, program, debug());
}

poplar::Tensor NodeContext::map(const popops::expr::Expr& formula, const std::vector<poplar::Tensor>& operands) const {
    return popops::map(device, formula, operands, program, debug());
}

poplar::Tensor NodeContext::sum(const poplar::Tensor& tensor, const std::vector<std::size_t>& axes,
                                const poplar::Type& type) const {
    return popops::reduce(device, tensor, type, axes, popops::Operation::ADD, program, debug());
}

namespace pe = popops::expr;

poplar::Tensor numbers_up_to(const NodeContext& node, std::size_t count) {
    std::vector<int> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0);
    const int* values = numbers.data();
    poplar::Tensor constant = node.device.addConstant(poplar::INT, {1, count}, values, node.debug());
    poputil::mapTensorLinearly(node.device, constant);
    return constant;
}

pe::Any in_range(const pe::Expr& number, std::size_t count) {
    return (number >= pe::Const(0)) && (number < pe::Const(static_cast<int>(count)));
}

bool has_device_type(DType type) {
    return type == DType::f32 || type == DType::f16 || type == DType::u8 || type == DType::i32;
}

poplar::Type device_type(DType type) {
    switch (type) {
        case DType::f32:
            return poplar::FLOAT;
        case DType::f16:
            return poplar::HALF;
        case DType::u8:
            return poplar::UNSIGNED_CHAR;
        case DType::i32:
            return poplar::INT;
        case DType::f64:
        case DType::bf16:
        case DType::i64:
        case DType::i8:
            break;
    }
    throw Error(ErrorKind::internal, "an IPU does not compute in " + std::string(name(type)));
}

std::vector<std::size_t> extents(const Shape& shape) {
    return {shape.begin(), shape.end()};
}

Exponentials exponentials(const NodeContext& node, const poplar::Tensor& x) {
    const std::size_t last = x.rank() - 1;
    const poplar::Tensor largest =
        popops::reduce(node.device, x, {last}, popops::Operation::MAX, node.program, node.debug());
    Exponentials result;
    result.values = node.map(pe::Exp(pe::Cast(pe::_1, poplar::FLOAT) - pe::Cast(pe::_2, poplar::FLOAT)),
                             {x, largest.expand({last})});
    result.sums = node.sum(result.values, {last});
    result.log_sums = node.map(pe::Cast(pe::_1, poplar::FLOAT) + pe::Log(pe::_2), {largest, result.sums});
    return result;
}

using graph::Activation;
using popnn::NonLinearityType;

namespace {

NonLinearityType non_linearity(Activation activation) {
    switch (activation) {
        case Activation::none:
        case Activation::relu6:  // PopLibs has no name for it
            break;
        case Activation::relu:
            return NonLinearityType::RELU;
        case Activation::swish:
            return NonLinearityType::SWISH;
        case Activation::sigmoid:
            return NonLinearityType::SIGMOID;
        case Activation::gelu:
            return NonLinearityType::GELU_ERF;
        case Activation::gelu_tanh:
            return NonLinearityType::GELU;
        case Activation::tanh:
            return NonLinearityType::TANH;
    }
    throw Error(ErrorKind::internal, "no non-linearity");
}

}  // namespace

poplar::Tensor activated(const NodeContext& node, Activation activation, const poplar::Tensor& x) {
    if (activation == Activation::none) return x;
    if (activation == Activation::relu6) {
        return node.map(pe::Clamp(pe::_1, pe::Const(0.0F), pe::Const(6.0F)), {x});
    }
    return popnn::nonLinearity(node.device, non_linearity(activation), x, node.program, node.debug());
}

poplar::Tensor times_slope(const NodeContext& node, Activation activation, const poplar::Tensor& at,
                           const poplar::Tensor& dy) {
    if (activation == Activation::none) return dy;
    if (activation == Activation::relu6) {
        const auto rises = pe::And(pe::Gt(pe::_1, pe::Const(0.0F)), pe::Lt(pe::_1, pe::Const(6.0F)));
        return node.map(pe::Select(pe::_2, pe::Const(0.0F), rises), {at, dy});
    }
    return popnn::nonLinearityInputGradient(node.device, non_linearity(activation), at, dy, node.program, node.debug());
}

namespace {

/// cnntrain::random_word() of the key (_2, _3) and the index _4.
pe::Any random_word_formula() {
    const pe::Any start = pe::_4 ^ pe::_2;
    const pe::Any middle = (start ^ (start >> 16U)) * 0x7feb352dU + pe::_3;
    const pe::Any end = (middle ^ (middle >> 15U)) * 0x846ca68bU;
    return end ^ (end >> 16U);
}

pe::Any kept_formula(double keep) {
    return random_word_formula() <= last_word_within(keep);
}

/// _1 / keep where the element is kept, else 0; in float.
pe::Any scaled_formula(double keep, const pe::Expr& kept) {
    const pe::Any x = pe::Cast(pe::_1, poplar::FLOAT) / static_cast<float>(keep);
    return pe::Select(x, pe::Const(0.0F), kept);
}

/// The arguments _1 to _4 of scaled_formula().
std::vector<poplar::Tensor> arguments(const NodeContext& node, std::uint64_t site, const poplar::Tensor& x, Draw draw) {
    const poplar::Tensor keys = node.keys.at(site);
    CNNTRAIN_CHECK(keys.dim(0) == x.dim(0), "keys of another number of samples than " + x.shapeToString());
    std::vector<std::size_t> of_samples(x.rank(), 1);
    of_samples[0] = x.dim(0);
    std::vector<std::size_t> of_sample(x.rank(), 1);
    if (draw == Draw::per_element) {
        of_sample = x.shape();
        of_sample[0] = 1;
    }
    const poplar::Tensor index = node.device.addVariable(poplar::UNSIGNED_INT, of_sample, node.debug());
    poputil::mapTensorLinearly(node.device, index);
    popops::iota(node.device, index.flatten(), 0U, node.program, node.debug());
    return {x, keys.slice(0, 1, 1).reshape(of_samples), keys.slice(1, 2, 1).reshape(of_samples), index};
}

}  // namespace

poplar::Tensor randomly_scaled(const NodeContext& node, std::uint64_t site, double keep, const poplar::Tensor& x,
                               Draw draw) {
    return node.map(pe::Cast(scaled_formula(keep, kept_formula(keep)), x.elementType()),
                    arguments(node, site, x, draw));
}

poplar::Tensor randomly_kept(const NodeContext& node, std::uint64_t site, double keep, const poplar::Tensor& x) {
    poplar::Tensor kept = node.device.clone(poplar::BOOL, x, node.debug());
    popops::mapWithOutput(node.device, kept_formula(keep), arguments(node, site, x, Draw::per_element), kept,
                          node.program, node.debug());
    return kept;
}

poplar::Tensor scaled_where_kept(const NodeContext& node, const poplar::Tensor& kept, double keep,
                                 const poplar::Tensor& x) {
    return node.map(pe::Cast(scaled_formula(keep, pe::_2), x.elementType()), {x, kept});
}

poplar::Tensor randomly_scaled_sum(const NodeContext& node, std::uint64_t site, double keep, const poplar::Tensor& x,
                                   const poplar::Tensor& addend) {
    std::vector<poplar::Tensor> operands = arguments(node, site, x, Draw::per_element);
    operands.push_back(addend);
    const pe::Any scaled = scaled_formula(keep, kept_formula(keep));
    return node.map(pe::Cast(scaled + pe::Cast(pe::_5, poplar::FLOAT), x.elementType()), operands);
}

}  // namespace cnntrain::ipu
