// Connects an option row to the member of Settings that holds the option's value.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <variant>

#include "cnntrain/base/error.h"
#include "cnntrain/config/names.h"
#include "cnntrain/config/settings.h"
#include "cnntrain/config/value.h"

namespace cnntrain::config {

struct Binding {
    void (*write)(Settings& settings, const Value& value) = nullptr;
};

/// An unset value leaves the member unchanged; it empties a std::optional member.
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

/// The struct in which a member path starts: Settings itself, or the task's own settings.
template <typename Root> Root& root_of(Settings& settings) {
    if constexpr (std::is_same_v<Root, Settings>) {
        return settings;
    } else {
        return settings.task.as<Root>();
    }
}

/// to<&Settings::comm, &comm::CommSettings::wire>() writes settings.comm.wire. If the first member belongs to a task's
/// settings struct, the binding writes into settings.task.
template <auto kFirst, auto... kPath> constexpr Binding to() {
    using Root = typename ClassOfMember<decltype(kFirst)>::Type;
    return {
        [](Settings& settings, const Value& value) { assign(((root_of<Root>(settings).*kFirst).*....*kPath), value); }};
}

/// Writes the negated value: for a flag whose member has the opposite meaning.
template <auto kFirst, auto... kPath> constexpr Binding to_opposite() {
    using Root = typename ClassOfMember<decltype(kFirst)>::Type;
    return {[](Settings& settings, const Value& value) {
        assign(((root_of<Root>(settings).*kFirst).*....*kPath), Value(!std::get<bool>(value)));
    }};
}

}  // namespace cnntrain::config
