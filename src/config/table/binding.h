// Writes an option's value into the member of Settings that the row names.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/config/parse.h"
#include "config/table/names.h"

namespace cnntrain::config {

struct Binding {
    void (*write)(Settings& settings, const Value& value) = nullptr;
};

/// An unset value leaves the member as it is (an optional becomes empty).
template <typename T> void assign(T& member, const Value& value) {
    if (std::holds_alternative<std::monostate>(value)) return;
    if constexpr (std::is_enum_v<T>) {
        member = *named<T>(std::get<std::string>(value));
    } else if constexpr (std::is_same_v<T, double>) {
        member = std::get<double>(value);
    } else {
        member = std::get<T>(value);
    }
}

template <typename T> void assign(std::optional<T>& member, const Value& value) {
    member.reset();
    if (!std::holds_alternative<std::monostate>(value)) assign(member.emplace(), value);
}

/// to<&Settings::model, &nn::ModelSettings::resnext, &nn::ResnextSettings::widenet>() writes settings.model.resnext.widenet.
template <auto... kPath> constexpr Binding to() {
    return {[](Settings& settings, const Value& value) { assign((settings.*....*kPath), value); }};
}

/// For a flag that says no: the member is what the flag is not.
template <auto... kPath> constexpr Binding to_opposite() {
    return {
        [](Settings& settings, const Value& value) { assign((settings.*....*kPath), Value(!std::get<bool>(value))); }};
}

}  // namespace cnntrain::config
