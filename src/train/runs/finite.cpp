#include "train/runs/finite.h"

#include <algorithm>
#include <cmath>

#include "cnntrain/base/error.h"
#include "cnntrain/config/value.h"
#include "cnntrain/nn/initialise.h"

namespace cnntrain::train {
namespace {

/// Index of the first element that is not finite, or is below `least`; -1: there is none.
std::int64_t first_bad_index(const HostTensor& tensor, double least) {
    const auto is_bad = [least](double value) { return !std::isfinite(value) || value < least; };
    if (tensor.dtype() == DType::f32) {
        const auto values = tensor.as<float>();
        const auto found = std::ranges::find_if(values, is_bad);
        return found == values.end() ? -1 : found - values.begin();
    }
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        if (is_bad(tensor.at(i))) return i;
    }
    return -1;
}

}  // namespace

std::optional<std::string> first_bad_number(const std::map<std::string, HostTensor>& variables) {
    for (const auto& [name, tensor] : variables) {
        const bool is_variance = name.ends_with(nn::kMovingVariance);
        const std::int64_t index = first_bad_index(tensor, is_variance ? 0 : -INFINITY);
        if (index >= 0)
            return name + "[" + std::to_string(index) + "] is " + config::to_string(config::Value{tensor.at(index)});
    }
    return std::nullopt;
}

std::optional<std::string> not_finite_in(backend::Executable& executable, const backend::StepResult& result,
                                         const std::string& logits, bool looks_inside) {
    const auto sum = std::ranges::find_if(result.sums, [](const auto& one) { return !std::isfinite(one.second); });
    std::string output = sum == result.sums.end() ? "" : "the sum of " + sum->first;
    if (output.empty() && !logits.empty() && first_bad_index(executable.output(logits), -INFINITY) >= 0)
        output = "the output " + logits;
    if (output.empty() && !looks_inside) return std::nullopt;
    std::optional<std::string> where = executable.inspection().first_non_finite();
    return where || output.empty() ? where : std::optional(output);
}

void fail_not_finite(const std::string& what, const std::string& where) {
    throw Error(ErrorKind::diverged, what +
                                         ": the network computes numbers that are not finite; first place: " + where +
                                         "; its answers mean nothing: use weights of a training that has not diverged");
}

}  // namespace cnntrain::train
