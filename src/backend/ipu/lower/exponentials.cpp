#include "backend/ipu/lower/exponentials.h"

#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>

namespace cnntrain::ipu {

namespace pe = popops::expr;

Exponentials exponentials(const NodeContext& node, const poplar::Tensor& x) {
    const std::size_t last = x.rank() - 1;
    const poplar::Tensor largest =
        popops::reduce(node.device, x, {last}, popops::Operation::MAX, node.program, node.debug());
    Exponentials result;
    result.values = popops::map(node.device, pe::Exp(pe::Cast(pe::_1, poplar::FLOAT) - pe::Cast(pe::_2, poplar::FLOAT)),
                                {x, largest.expand({last})}, node.program, node.debug());
    result.sums =
        popops::reduce(node.device, result.values, {last}, popops::Operation::ADD, node.program, node.debug());
    result.log_sums = popops::map(node.device, pe::Cast(pe::_1, poplar::FLOAT) + pe::Log(pe::_2),
                                  {largest, result.sums}, node.program, node.debug());
    return result;
}

}  // namespace cnntrain::ipu
