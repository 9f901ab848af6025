#include "backend/ipu/lower/numbers.h"

#include <numeric>
#include <vector>

#include <poputil/TileMapping.hpp>

namespace cnntrain::ipu {

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

}  // namespace cnntrain::ipu
