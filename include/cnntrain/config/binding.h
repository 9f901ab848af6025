// Writes an option's value into the member of Settings that the row names.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/config/names.h"
#include "cnntrain/config/settings.h"
#include "cnntrain/config/value.h"

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

template <typename T> struct ClassOfMember;
template <typename Class, typename Member> struct ClassOfMember<Member Class::*> { using Type = Class; };

/// The struct that a path of members begins in: the settings themselves, or those of the task.
template <typename Root> Root& root_of(Settings& settings) {
    if constexpr (std::is_same_v<Root, Settings>) {
        return settings;
    } else {
        return settings.task.as<Root>();
    }
}

/// to<&Settings::comm, &comm::CommSettings::wire>() writes settings.comm.wire. Where the first member is one of a
/// task's settings, those are written.
template <auto kFirst, auto... kPath> constexpr Binding to() {
    using Root = typename ClassOfMember<decltype(kFirst)>::Type;
    return {
        [](Settings& settings, const Value& value) { assign(((root_of<Root>(settings).*kFirst).*....*kPath), value); }};
}

/// For a flag that says no: the member is what the flag is not.
template <auto kFirst, auto... kPath> constexpr Binding to_opposite() {
    using Root = typename ClassOfMember<decltype(kFirst)>::Type;
    return {[](Settings& settings, const Value& value) {
        assign(((root_of<Root>(settings).*kFirst).*....*kPath), Value(!std::get<bool>(value)));
    }};
}

}  // namespace cnntrain::config
