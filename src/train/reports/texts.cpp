#include "cnntrain/train/texts.h"

#include "cnntrain/base/format.h"
#include "cnntrain/config/settings.h"
#include "cnntrain/config/value.h"

namespace cnntrain::train {

std::string text(double value) {
    return config::to_string(config::Value{value});
}

std::string short_text(double value) {
    return formatted("%.5g", value);
}

std::string some_of(const std::vector<std::int64_t>& first, std::int64_t count, std::int64_t last) {
    std::string result;
    for (const std::int64_t value : first)
        result += (result.empty() ? "" : ", ") + std::to_string(value);
    if (static_cast<std::size_t>(count) == first.size()) return result;
    if (static_cast<std::size_t>(count) > first.size() + 1) result += ", ...";
    return result + ", " + std::to_string(last) + " (" + std::to_string(count) + " in all)";
}

namespace {

std::string rule_text(const optim::OptimiserSettings& how) {
    std::string name(config::name(how.rule));
    switch (how.rule) {
        case graph::UpdateRule::sgd:
            return name;
        case graph::UpdateRule::momentum:
        case graph::UpdateRule::nesterov:
        case graph::UpdateRule::rmsprop:
        case graph::UpdateRule::lars:
            return name + ", momentum " + text(how.momentum);
        default:  // the Adam family
            return name + ", betas " + text(how.adam.beta1) + " and " + text(how.adam.beta2);
    }
}

}  // namespace

std::string optimiser_text(const optim::OptimiserSettings& settings) {
    const bool by_step = !settings.loss_scaling_by_step.empty();
    return rule_text(settings) + ", weight decay " + text(settings.weight_decay) + ", loss scaling " +
           (by_step ? "by step" : text(settings.loss_scaling));
}

}  // namespace cnntrain::train
