#include "exports/onnx/builder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cnntrain/base/error.h"

namespace cnntrain::exports {

namespace {

/// Error(unsupported) for finite numbers that float16 turns into infinity.
void require_f16_range(const std::string& name, const HostTensor& tensor) {
    constexpr double kMost = 65504;
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        if (std::abs(tensor.at(i)) <= kMost) continue;
        throw Error(ErrorKind::unsupported, name + " holds " + std::to_string(tensor.at(i)) +
                                                ", and float16 ends at 65504; export in f32 or bf16");
    }
}

}  // namespace

std::string OnnxBuilder::free_name(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 2; !names_.insert(name).second; ++i)
        name = wanted + "_" + std::to_string(i);
    return name;
}

std::string OnnxBuilder::add(std::string_view op, const std::string& name, std::vector<std::string> inputs,
                             std::map<std::string, OnnxAttribute> attributes) {
    std::string result = free_name(name);
    model_.nodes.push_back({std::string(op), result, std::move(inputs), {result}, std::move(attributes)});
    return result;
}

void OnnxBuilder::add_named(std::string_view op, const std::string& result, std::vector<std::string> inputs,
                            std::map<std::string, OnnxAttribute> attributes) {
    model_.nodes.push_back({std::string(op), result, std::move(inputs), {result}, std::move(attributes)});
}

std::string OnnxBuilder::stored(const std::string& name, const HostTensor& tensor) {
    model_.tensors.push_back({free_name(name), tensor});
    return model_.tensors.back().name;
}

std::string OnnxBuilder::weight(const std::string& name, const HostTensor& tensor) {
    if (!is_float(tensor.dtype())) return stored(name, tensor);
    constexpr std::size_t kMatrixRank = 2;
    const bool in_bf16 = weights_ == OnnxWeights::bf16 && tensor.shape().size() >= kMatrixRank;
    if (weights_ == OnnxWeights::f16) require_f16_range(name, tensor);
    const DType type = in_bf16 ? DType::bf16 : compute_type();
    const std::string result = stored(name, tensor.dtype() == type ? tensor : tensor.cast(type));
    return in_bf16 ? add("Cast", name + "/f32", {result}, {{"to", kOnnxFloat}}) : result;
}

std::string OnnxBuilder::number(double value) {
    const auto found = numbers_.find(value);
    if (found != numbers_.end()) return found->second;
    HostTensor scalar({DType::f32, {}});
    scalar.set(0, value);
    return numbers_.emplace(value, weight("number", scalar)).first->second;
}

std::string OnnxBuilder::integers(const std::string& name, const std::vector<std::int64_t>& values) {
    HostTensor tensor({DType::i64, {std::ssize(values)}});
    std::ranges::copy(values, tensor.as<std::int64_t>().begin());
    return weight(name, tensor);
}

std::int64_t OnnxBuilder::compute_number() const {
    return weights_ == OnnxWeights::f16 ? kOnnxFloat16 : kOnnxFloat;
}

}  // namespace cnntrain::exports
