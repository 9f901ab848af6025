#include "cnntrain/checkpoint/analyse.h"

#include <algorithm>
#include <cmath>

#include "cnntrain/base/crc32c.h"
#include "cnntrain/base/error.h"
#include "cnntrain/checkpoint/file.h"

namespace cnntrain::checkpoint {

std::vector<VariableNans> find_nans(const FileSystem& files, const std::string& path, Edited edited) {
    const CheckpointFile file(files, path, edited);
    std::vector<VariableNans> result;
    std::uint32_t crc = 0;
    for (const std::string& name : file.names()) {
        const HostTensor tensor = file.read(name);
        crc = crc32c(tensor.bytes(), crc);
        VariableNans nans{name, {}};
        for (std::int64_t i = 0; i < tensor.elements(); ++i) {
            if (std::isnan(tensor.at(i))) nans.indices.push_back(i);
        }
        if (!nans.indices.empty()) result.push_back(std::move(nans));
    }
    file.check_crc(crc);
    std::ranges::sort(result, {}, &VariableNans::variable);
    return result;
}

double element(const FileSystem& files, const std::string& path, const std::string& variable, std::int64_t index,
               Edited edited) {
    const CheckpointFile file(files, path, edited);
    if (std::ranges::count(file.names(), variable) == 0) {
        const std::string nearest = nearest_name(variable, file.names());
        throw Error(ErrorKind::usage, "checkpoint '" + path + "' has no variable '" + variable + "'" +
                                          (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
    }
    const TensorDesc& desc = file.desc(variable);
    if (index < 0 || index >= desc.elements()) {
        throw Error(ErrorKind::usage,
                    "variable '" + variable + "' is " + to_string(desc) + ": its elements are numbered from 0 to " +
                        std::to_string(desc.elements() - 1) + ", there is no " + std::to_string(index));
    }
    file.verify();
    return file.read(variable).at(index);
}

}  // namespace cnntrain::checkpoint
