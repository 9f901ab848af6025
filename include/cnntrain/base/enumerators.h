// The number of enumerators of an enumeration, for static_asserts on tables with one row for each.
#pragma once

#include <cstddef>
#include <string_view>

namespace cnntrain {

namespace detail {

template <auto value> constexpr std::string_view signature() {
    return __PRETTY_FUNCTION__;
}

/// GCC and Clang print a value without a name as a cast: "value = (Family)3".
template <auto value> constexpr bool has_name() {
    constexpr std::string_view kBefore = "value = ";
    return signature<value>()[signature<value>().find(kBefore) + kBefore.size()] != '(';
}

}  // namespace detail

/// For enumerations whose values are 0, 1, 2, ...
template <typename Enum, std::size_t index = 0> constexpr std::size_t enumerator_count() {
    if constexpr (detail::has_name<static_cast<Enum>(index)>()) {
        return enumerator_count<Enum, index + 1>();
    } else {
        return index;
    }
}

}  // namespace cnntrain
