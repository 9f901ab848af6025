// Spellings of the enumerators that options take, in enumerator order.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "cnntrain/config/settings.h"

namespace cnntrain::config {

/// Specialised for every enumeration that is the type of an option.
template <typename E> const std::vector<std::string_view>& names();
template <> const std::vector<std::string_view>& names<backend::BackendKind>();
template <> const std::vector<std::string_view>& names<comm::Wire>();
template <> const std::vector<std::string_view>& names<comm::Route>();
template <> const std::vector<std::string_view>& names<nn::Family>();
template <> const std::vector<std::string_view>& names<nn::PaddingRule>();
template <> const std::vector<std::string_view>& names<nn::BottleneckStride>();
template <> const std::vector<std::string_view>& names<nn::NetworkForm>();
template <> const std::vector<std::string_view>& names<data::DatasetId>();
template <> const std::vector<std::string_view>& names<data::Interpolation>();
template <> const std::vector<std::string_view>& names<data::ResizeMode>();
template <> const std::vector<std::string_view>& names<graph::UpdateRule>();
template <> const std::vector<std::string_view>& names<optim::LrSchedule>();
template <> const std::vector<std::string_view>& names<optim::StepSchedule>();
template <> const std::vector<std::string_view>& names<nn::Precision>();
template <> const std::vector<std::string_view>& names<nn::ComputeType>();
template <> const std::vector<std::string_view>& names<backend::StochasticRounding>();
template <> const std::vector<std::string_view>& names<schedule::PipelineSchedule>();
template <> const std::vector<std::string_view>& names<train::Metric>();

/// The enumerator with exactly this spelling.
template <typename E> std::optional<E> named(std::string_view spelling) {
    const auto& all = names<E>();
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i] == spelling) return static_cast<E>(i);
    }
    return std::nullopt;
}

}  // namespace cnntrain::config
