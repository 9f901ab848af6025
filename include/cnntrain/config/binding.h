// Connects an option row to the member of Settings that holds the option's value.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "cnntrain/base/error.h"
#include "cnntrain/config/names.h"
#include "cnntrain/config/settings.h"
#include "cnntrain/config/value.h"

namespace cnntrain::config {

struct Binding {
    void (*write)(Settings& settings, const Value& value) = nullptr;
    Type type = Type::boolean;                                    // of the member
    Value (*initial)() = nullptr;                                 // the member's value in new settings
    const std::vector<std::string_view>& (*choices)() = nullptr;  // of a member that is an enumeration
};

/// An unset value leaves the member unchanged; it empties a std::optional member.
template <typename T> void assign(T& member, const Value& value) {
    if (std::holds_alternative<Unset>(value)) return;
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
    if (!std::holds_alternative<Unset>(value)) assign(member.emplace(), value);
}

template <typename T> Value value_of(const T& member) {
    if constexpr (std::is_enum_v<T>) {
        return std::string(names<T>().at(static_cast<std::size_t>(member)));
    } else {
        return member;
    }
}
template <typename T> Value value_of(const std::optional<T>& member) {
    return member ? value_of(*member) : Value();
}

template <typename T> struct WithoutOptional { using Type = T; };
template <typename T> struct WithoutOptional<std::optional<T>> { using Type = T; };

template <typename T> constexpr Type type_of() {
    if constexpr (std::is_enum_v<T>) return Type::choice;
    if constexpr (std::is_same_v<T, bool>) return Type::boolean;
    if constexpr (std::is_same_v<T, std::int64_t>) return Type::integer;
    if constexpr (std::is_same_v<T, double>) return Type::number;
    if constexpr (std::is_same_v<T, std::string>) return Type::text;
    if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) return Type::integers;
    if constexpr (std::is_same_v<T, std::vector<double>>) return Type::numbers;
    return Type::texts;
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
    using Member = std::remove_cvref_t<decltype(((std::declval<Root&>().*kFirst).*....*kPath))>;
    using Content = typename WithoutOptional<Member>::Type;
    Binding binding{
        [](Settings& settings, const Value& value) { assign(((root_of<Root>(settings).*kFirst).*....*kPath), value); },
        type_of<Content>(), [] { return value_of(((Root().*kFirst).*....*kPath)); }};
    if constexpr (std::is_enum_v<Content>) binding.choices = names<Content>;
    return binding;
}

/// Writes the negated value: for a flag whose member has the opposite meaning.
template <auto kFirst, auto... kPath> constexpr Binding to_opposite() {
    using Root = typename ClassOfMember<decltype(kFirst)>::Type;
    return {[](Settings& settings, const Value& value) {
                assign(((root_of<Root>(settings).*kFirst).*....*kPath), Value(!std::get<bool>(value)));
            },
            Type::boolean, [] { return Value(!((Root().*kFirst).*....*kPath)); }};
}

}  // namespace cnntrain::config
