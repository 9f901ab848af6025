#include "backend/ipu/lower/node_context.h"

#include <popops/Cast.hpp>

#include "backend/ipu/lower/support.h"
#include "cnntrain/base/error.h"

namespace cnntrain::ipu {
namespace {

using Family = std::span<const LoweringEntry> (*)();

constexpr Family kFamilies[] = {
    attention_lowerings, conv_lowerings,   dense_lowerings,  fold_lowerings,      gate_lowerings, layer_norm_lowerings,
    loss_lowerings,      mixing_lowerings, norm_lowerings,   pointwise_lowerings, pool_lowerings, proxy_norm_lowerings,
    random_lowerings,    token_lowerings,  update_lowerings, view_lowerings,
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

}  // namespace cnntrain::ipu
