// Names of the safetensors format, shared by save and load.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "cnntrain/base/tensor.h"

namespace cnntrain::weights {

// Memory for the tensors of a checkpoint.

/// Throws Error(unsupported): "checkpoint 'path': its tensors need 3 GB of memory, more than this machine has".
[[noreturn]] void too_large(const std::string& path, const std::string& what, std::uint64_t bytes);

/// too_large() unless the process may take that much more memory: the kernel would end it.
void require_room(const std::string& path, const std::string& what, std::uint64_t bytes);

inline constexpr std::uint64_t kLengthBytes = 8;  // of the header's length in front of it

inline constexpr const char* kMetadata = "__metadata__";
inline constexpr const char* kIteration = "iteration";
inline constexpr const char* kEpoch = "epoch";
// Checksums, 8 hexadecimal digits each. A file has both or, written by another tool, none; those of early versions have
// kEarlyTensorsCrc alone. So no damage to a name makes a file one without checksums.
inline constexpr const char* kHeaderCrc = "header_crc32c";  // of the header with 8 zeros in the place of its own digits
inline constexpr const char* kTensorsCrc = "tensors_crc32c";  // of everything after the header
inline constexpr const char* kEarlyTensorsCrc = "data_crc32c";

/// The beginning of every header, up to the digits of its checksum. A program that rewrites the header moves them.
inline constexpr std::string_view kHeaderBegin = R"({"__metadata__":{"header_crc32c":")";
inline constexpr std::string_view kNoDigits = "00000000";

struct DTypeName {
    DType type;
    std::string_view name;
};
/// The first name of a type is the one that is written. A BOOL is a byte, 0 or 1.
inline constexpr DTypeName kDTypeNames[] = {
    {DType::f64, "F64"}, {DType::f32, "F32"}, {DType::bf16, "BF16"}, {DType::f16, "F16"},
    {DType::u8, "U8"},   {DType::i32, "I32"}, {DType::i64, "I64"},   {DType::u8, "BOOL"},
};
/// Types of the format that this program has not.
inline constexpr std::string_view kOtherDTypes[] = {
    "I8", "I16", "U16", "U32", "U64", "C64", "C128", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F6_E2M3", "F6_E3M2", "F4"};

// Modules of PyTorch that wrap a network put their own name in front of the names of all its tensors.

/// DataParallel and DistributedDataParallel, torch.compile(), Lightning
inline constexpr std::string_view kWrappers[] = {"module.", "_orig_mod.", "model."};

/// Removes the wrappers' names that all tensors have in common.
template <typename T> void take_wrapper_away(std::map<std::string, T>& tensors) {
    const auto wraps_all = [&](std::string_view wrapper) {
        return std::ranges::all_of(tensors, [&](const auto& entry) { return entry.first.starts_with(wrapper); });
    };
    constexpr int kMostWrappers = 4;  // a hostile name may repeat one without end
    for (int i = 0; i < kMostWrappers && !tensors.empty(); ++i) {
        const auto* const wrapper = std::ranges::find_if(kWrappers, wraps_all);
        if (wrapper == std::end(kWrappers)) return;
        std::map<std::string, T> inner;
        for (auto& [name, tensor] : tensors)
            inner.emplace(name.substr(wrapper->size()), std::move(tensor));
        tensors = std::move(inner);
    }
}

}  // namespace cnntrain::weights
