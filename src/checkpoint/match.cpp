#include "cnntrain/base/error.h"
#include "cnntrain/checkpoint/checkpoint.h"

namespace cnntrain::checkpoint {

void match(const std::map<std::string, TensorDesc>& expected, const Checkpoint& checkpoint, const std::string& path) {
    std::string differences;
    for (const auto& [name, desc] : expected) {
        const auto found = checkpoint.tensors.find(name);
        if (found == checkpoint.tensors.end()) {
            differences += "\n  missing: " + name + " " + to_string(desc.shape);
        } else if (found->second.shape() != desc.shape) {
            differences += "\n  differs: " + name + " is " + to_string(found->second.shape()) + ", the model needs " +
                           to_string(desc.shape);
        }
    }
    for (const auto& [name, tensor] : checkpoint.tensors) {
        if (!expected.contains(name)) differences += "\n  extra:   " + name + " " + to_string(tensor.shape());
    }
    if (differences.empty()) return;
    throw Error(ErrorKind::data, "checkpoint '" + path +
                                     "' does not fit the model; give the model flags that it was trained with, or "
                                     "another checkpoint. Tensors:" +
                                     differences);
}

}  // namespace cnntrain::checkpoint
