// What the pickle of torch.save() says about tensors: their storages, shapes and strides.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/foreign/pickle.h"
#include "cnntrain/checkpoint/foreign.h"

namespace cnntrain::checkpoint {

/// A run of numbers in the file. Tensors may share one.
struct TorchStorage {
    std::string key;
    std::uint64_t bytes = 0;
    std::uint64_t begin = 0;  // in bytes; other than 0 for views of storages in old files

    bool operator==(const TorchStorage&) const = default;
};

struct TorchTensor {
    TensorDesc desc;
    TorchStorage storage;
    std::int64_t offset = 0;  // all in elements
    std::vector<std::int64_t> strides;
};

struct TorchPart {
    std::string path;
    std::map<std::string, TorchTensor> tensors;
    std::vector<LeftOut> left_out;
};

/// The globals of Python that files of weights name.
PickleGlobal known_torch_global(std::string_view name);

/// The dictionary of tensors named `part`, or the one that foreign.h describes. `others` gets the paths of the others.
TorchPart find_torch_part(const Pickle& pickle, const InputFile& file, const std::string& part,
                          std::vector<std::string>& others);

/// Keys of storages are numbers as texts. A long one is refused, because every tensor keeps its own: Error(data).
const std::string& storage_key(const Pickle& pickle, PickleId id, const std::string& file);

/// Bytes of an element of a storage class, "torch.FloatStorage"; 0: no storage class.
std::uint64_t torch_element_bytes(std::string_view storage_class);

}  // namespace cnntrain::checkpoint
