// The number and the names of the enumerators of an enumeration, as the source has them.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace cnntrain {

namespace detail {

template <auto value> constexpr std::string_view signature() {
    return __PRETTY_FUNCTION__;
}

/// "cnntrain::nn::Family::resnet". GCC and Clang print a value without a name as a cast: "(cnntrain::nn::Family)3".
template <auto value> constexpr std::string_view printed() {
    constexpr std::string_view kBefore = "value = ";
    constexpr std::size_t kBegin = signature<value>().find(kBefore) + kBefore.size();
    return signature<value>().substr(kBegin, signature<value>().find_first_of(";]", kBegin) - kBegin);
}

}  // namespace detail

/// Number of enumerators of an enumeration with the values 0, 1, 2, ...
template <typename Enum, std::size_t index = 0> constexpr std::size_t enumerator_count() {
    if constexpr (detail::printed<static_cast<Enum>(index)>().front() != '(') {
        return enumerator_count<Enum, index + 1>();
    } else {
        return index;
    }
}

/// Names of the enumerators of such an enumeration: "resnet", "resnext", ...
template <typename Enum> constexpr auto enumerator_names() {
    return []<std::size_t... index>(std::index_sequence<index...>) {
        constexpr auto kName = [](std::string_view printed) { return printed.substr(printed.rfind(':') + 1); };
        return std::array{kName(detail::printed<static_cast<Enum>(index)>())...};
    }
    (std::make_index_sequence<enumerator_count<Enum>()>());
}

template <typename Enum> constexpr std::string_view enumerator_name(Enum value) {
    return enumerator_names<Enum>().at(static_cast<std::size_t>(value));
}

// The words by which users know the enumerators: an enumeration that options take has a function spellings(Enum) beside
// it, which returns one for each enumerator in their order.

template <typename Enum> constexpr std::string_view spelling(Enum value) {
    constexpr auto kAll = spellings(Enum{});
    static_assert(kAll.size() == enumerator_count<Enum>(), "one spelling for each enumerator, in their order");
    return kAll.at(static_cast<std::size_t>(value));
}

/// The enumerator with exactly this spelling.
template <typename Enum> constexpr std::optional<Enum> named(std::string_view word) {
    for (std::size_t i = 0; i < enumerator_count<Enum>(); ++i) {
        if (spelling(static_cast<Enum>(i)) == word) return static_cast<Enum>(i);
    }
    return std::nullopt;
}

}  // namespace cnntrain
