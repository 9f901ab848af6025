// Options: names that a function knows, and their values.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <poplar/OptionFlags.hpp>
#include <span>
#include <string>
#include <string_view>

namespace ipu_emulator {

/// Throws invalid_option for a name that is not in `known`, with the names that are.
void check_options(std::string_view function, const poplar::OptionFlags& options,
                   std::span<const std::string_view> known);
inline void check_options(std::string_view function, const poplar::OptionFlags& options,
                          std::initializer_list<std::string_view> known) {
    check_options(function, options, std::span(known.begin(), known.size()));
}

/// "true" or "false"; `fallback` if the option is not set. Throws invalid_option for anything else.
bool bool_option(const poplar::OptionFlags& options, std::string_view name, bool fallback);

/// One of `choices`, the first of them if the option is not set. Throws invalid_option for anything else.
std::string choice_option(const poplar::OptionFlags& options, std::string_view name,
                          std::initializer_list<std::string_view> choices);

/// `fallback` if the option is not set. Throws invalid_option for what is no number.
double number_option(const poplar::OptionFlags& options, std::string_view name, double fallback);

/// A whole number from 0 on. Throws invalid_option for anything else.
std::uint64_t count_option(const poplar::OptionFlags& options, std::string_view name, std::uint64_t fallback);

// Options of an engine.

/// `options`, overridden by the JSON object of strings in POPLAR_ENGINE_OPTIONS. Throws invalid_option for other text.
poplar::OptionFlags with_environment(const poplar::OptionFlags& options);

/// Throws invalid_option for unknown names, and for values of another kind than the option's.
void check_engine_options(const poplar::OptionFlags& options);

}  // namespace ipu_emulator
