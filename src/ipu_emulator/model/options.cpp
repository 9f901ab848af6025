#include "ipu_emulator/model/options.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include <poplar/exceptions.hpp>

namespace ipu_emulator {
namespace {

std::string joined(std::span<const std::string_view> words) {
    std::string text;
    for (const std::string_view word : words)
        text += (text.empty() ? "" : ", ") + std::string(word);
    return text.empty() ? "none" : text;
}

[[noreturn]] void wrong_value(std::string_view name, const std::string& expected, const std::string& value) {
    throw poplar::invalid_option("the option " + std::string(name) + " expects " + expected + ", got \"" + value +
                                 "\"");
}

}  // namespace

void check_options(std::string_view function, const poplar::OptionFlags& options,
                   std::span<const std::string_view> known) {
    for (const auto& [name, value] : options) {
        if (std::ranges::find(known, std::string_view(name)) != known.end()) continue;
        throw poplar::invalid_option(std::string(function) + ": unknown option \"" + name +
                                     "\"; known are: " + joined(known));
    }
}

bool bool_option(const poplar::OptionFlags& options, std::string_view name, bool fallback) {
    const auto found = options.find(std::string(name));
    if (found == options.end()) return fallback;
    if (found->second != "true" && found->second != "false") wrong_value(name, "true or false", found->second);
    return found->second == "true";
}

std::string choice_option(const poplar::OptionFlags& options, std::string_view name,
                          std::initializer_list<std::string_view> choices) {
    const auto found = options.find(std::string(name));
    if (found == options.end()) return std::string(*choices.begin());
    if (std::ranges::find(choices, std::string_view(found->second)) == choices.end())
        wrong_value(name, "one of " + joined(std::span(choices.begin(), choices.size())), found->second);
    return found->second;
}

double number_option(const poplar::OptionFlags& options, std::string_view name, double fallback) {
    const auto found = options.find(std::string(name));
    if (found == options.end()) return fallback;
    char* end = nullptr;
    const double value = std::strtod(found->second.c_str(), &end);
    if (found->second.empty() || *end != '\0') wrong_value(name, "a number", found->second);
    return value;
}

std::uint64_t count_option(const poplar::OptionFlags& options, std::string_view name, std::uint64_t fallback) {
    const auto found = options.find(std::string(name));
    if (found == options.end()) return fallback;
    std::uint64_t value = 0;
    const char* end = found->second.data() + found->second.size();
    const auto [last, error] = std::from_chars(found->second.data(), end, value);
    if (error != std::errc() || last != end) wrong_value(name, "a whole number from 0 on", found->second);
    return value;
}

}  // namespace ipu_emulator
