// Modules of PyTorch that wrap a network put their own name in front of the names of all its tensors.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace cnntrain::checkpoint {

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

}  // namespace cnntrain::checkpoint
