#include "cnntrain/checkpoint/averaged_weights.h"

#include <utility>

#include "cnntrain/base/error.h"

namespace cnntrain::checkpoint {

std::map<std::string, HostTensor> take_averages(Checkpoint& checkpoint) {
    std::map<std::string, HostTensor> averages;
    for (auto tensor = checkpoint.tensors.begin(); tensor != checkpoint.tensors.end();) {
        const std::string& name = tensor->first;
        const std::string variable =
            name.ends_with(kAverageSuffix) ? name.substr(0, name.size() - kAverageSuffix.size()) : "";
        if (!variable.empty() && checkpoint.tensors.contains(variable)) {
            averages.emplace(variable, std::move(tensor->second));
            tensor = checkpoint.tensors.erase(tensor);
        } else {
            ++tensor;
        }
    }
    return averages;
}

void use_averages(Checkpoint& checkpoint, const std::string& path) {
    std::map<std::string, HostTensor> averages = take_averages(checkpoint);
    if (averages.empty()) {
        throw Error(ErrorKind::usage, "--ema: " + path +
                                          " has no moving averages of the weights, which a training with --ema-decay "
                                          "keeps; leave --ema out");
    }
    checkpoint.tensors = std::move(averages);
}

}  // namespace cnntrain::checkpoint
