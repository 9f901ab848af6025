#include "backend/ipu/lower/types.h"

#include <string>

#include "cnntrain/base/error.h"

namespace cnntrain::ipu {

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
            break;
    }
    throw Error(ErrorKind::internal, "an IPU does not compute in " + std::string(name(type)));
}

std::vector<std::size_t> extents(const Shape& shape) {
    return {shape.begin(), shape.end()};
}

}  // namespace cnntrain::ipu
