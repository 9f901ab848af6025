#include "backend/ipu/lower/random_words.h"

#include <vector>

#include <popops/ElementWise.hpp>
#include <popops/Encoding.hpp>
#include <poputil/TileMapping.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/rng.h"

namespace cnntrain::ipu {

namespace pe = popops::expr;

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
    return popops::map(node.device, pe::Cast(scaled_formula(keep, kept_formula(keep)), x.elementType()),
                       arguments(node, site, x, draw), node.program, node.debug());
}

poplar::Tensor randomly_kept(const NodeContext& node, std::uint64_t site, double keep, const poplar::Tensor& x) {
    poplar::Tensor kept = node.device.clone(poplar::BOOL, x, node.debug());
    popops::mapWithOutput(node.device, kept_formula(keep), arguments(node, site, x, Draw::per_element), kept,
                          node.program, node.debug());
    return kept;
}

poplar::Tensor scaled_where_kept(const NodeContext& node, const poplar::Tensor& kept, double keep,
                                 const poplar::Tensor& x) {
    return popops::map(node.device, pe::Cast(scaled_formula(keep, pe::_2), x.elementType()), {x, kept}, node.program,
                       node.debug());
}

poplar::Tensor randomly_scaled_sum(const NodeContext& node, std::uint64_t site, double keep, const poplar::Tensor& x,
                                   const poplar::Tensor& addend) {
    std::vector<poplar::Tensor> operands = arguments(node, site, x, Draw::per_element);
    operands.push_back(addend);
    const pe::Any scaled = scaled_formula(keep, kept_formula(keep));
    return popops::map(node.device, pe::Cast(scaled + pe::Cast(pe::_5, poplar::FLOAT), x.elementType()), operands,
                       node.program, node.debug());
}

}  // namespace cnntrain::ipu
