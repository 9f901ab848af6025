// Names of the safetensors format, shared by save and load.
#pragma once

#include <cstdint>
#include <string_view>

#include "cnntrain/base/tensor.h"

namespace cnntrain::checkpoint {

inline constexpr std::uint64_t kLengthBytes = 8;  // of the header's length in front of it

inline constexpr const char* kMetadata = "__metadata__";
inline constexpr const char* kIteration = "iteration";
inline constexpr const char* kEpoch = "epoch";
inline constexpr const char* kDataCrc = "data_crc32c";

struct DTypeName {
    DType type;
    std::string_view name;
};
inline constexpr DTypeName kDTypeNames[] = {
    {DType::f64, "F64"}, {DType::f32, "F32"}, {DType::bf16, "BF16"}, {DType::f16, "F16"},
    {DType::u8, "U8"},   {DType::i32, "I32"}, {DType::i64, "I64"},
};

}  // namespace cnntrain::checkpoint
