#include "cnntrain/weights/average.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/weights/checkpoint.h"

namespace cnntrain::weights {
namespace {

/// The tensors of a file, and a check of all of it.
struct Opened {
    std::vector<std::string> names;
    TensorSource tensors;
    std::function<void(std::uint32_t crc)> check;  // of all tensors, in the order of names
};

Opened open_any(const FileSystem& files, const std::string& path, Edited edited) {
    Opened opened;
    if (foreign_format(files, path)) {
        opened.tensors = open_foreign(files, path).tensors;  // checks each tensor that it reads
        for (const auto& [name, desc] : opened.tensors.descs)
            opened.names.push_back(name);
        opened.check = [](std::uint32_t) {};
        return opened;
    }
    const auto file = std::make_shared<const CheckpointFile>(files, path, edited);
    opened.names = file->names();
    for (const std::string& name : opened.names)
        opened.tensors.descs.emplace(name, file->desc(name));
    opened.tensors.tensor = [file](const std::string& name) { return file->read(name); };
    opened.check = [file](std::uint32_t crc) { file->check_crc(crc); };
    return opened;
}

}  // namespace

std::vector<VariableNans> find_nans(const FileSystem& files, const std::string& path, Edited edited) {
    const Opened file = open_any(files, path, edited);
    std::vector<VariableNans> result;
    std::uint32_t crc = 0;
    for (const std::string& name : file.names) {
        const HostTensor tensor = file.tensors.tensor(name);
        crc = crc32c(tensor.bytes(), crc);
        VariableNans nans{name, {}};
        for (std::int64_t i = 0; i < tensor.elements(); ++i) {
            if (std::isnan(tensor.at(i))) nans.indices.push_back(i);
        }
        if (!nans.indices.empty()) result.push_back(std::move(nans));
    }
    file.check(crc);
    std::ranges::sort(result, {}, &VariableNans::variable);
    return result;
}

double element(const FileSystem& files, const std::string& path, const std::string& variable, std::int64_t index,
               Edited edited) {
    const Opened file = open_any(files, path, edited);
    const auto found = file.tensors.descs.find(variable);
    if (found == file.tensors.descs.end()) {
        throw Error(ErrorKind::usage,
                    "checkpoint '" + path + "' has no variable '" + variable + "'" + suggestion(variable, file.names));
    }
    const TensorDesc& desc = found->second;
    if (index < 0 || index >= desc.elements()) {
        throw Error(ErrorKind::usage,
                    "variable '" + variable + "' is " + to_string(desc) + ": its elements are numbered from 0 to " +
                        std::to_string(desc.elements() - 1) + ", there is no " + std::to_string(index));
    }
    std::uint32_t crc = 0;
    for (const std::string& name : file.names)
        crc = crc32c(file.tensors.tensor(name).bytes(), crc);
    file.check(crc);
    return file.tensors.tensor(variable).at(index);
}

CheckpointContent content(const FileSystem& files, const std::string& path, Edited edited) {
    if (foreign_format(files, path)) {
        ForeignFile file = open_foreign(files, path);
        return {std::string(name(file.format)), std::move(file.tensors.descs), std::move(file.part),
                std::move(file.other_parts), std::move(file.left_out)};
    }
    return {"safetensors", open_any(files, path, edited).tensors.descs, {}, {}, {}};
}

}  // namespace cnntrain::weights
