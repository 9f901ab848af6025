// Option values and their sources.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace cnntrain::config {

/// The type of an option's value.
enum class Type : std::uint8_t {
    of_member,      // that of the member of Settings that holds the value
    boolean,        // --x, --no-x
    boolean_value,  // --x, --no-x, --x true, --x false
    integer,
    number,
    text,
    choice,    // one of `choices`, case-insensitive
    integers,  // a list takes all words up to the next option
    numbers,   // a list whose words may also be separated by commas
    texts,
    patterns,   // file names with wildcards: all words up to the next option, stored as one text separated by commas
    structure,  // nested lists or an object, as JSON text
};

/// No value. It takes the place of std::monostate because of libstdc++ 12, which does not ask a variant of numbers,
/// strings and vectors alone whether it holds something: where memory for a copy is missing, it would destroy the copy
/// that was never made.
struct Unset {
    Unset() = default;
    Unset(const Unset& /*other*/) noexcept {}
    Unset& operator=(const Unset& /*other*/) noexcept { return *this; }
    ~Unset() = default;
    bool operator==(const Unset&) const = default;
};

/// The value of an option. Unset: not given, and no default.
using Value = std::variant<Unset, bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                           std::vector<double>, std::vector<std::string>>;

/// The value as written on a command line: "0.1", "true", "a b"; "none" for Unset.
std::string to_string(const Value& value);
bool is_unset(const Value& value);

/// The source of a value, in increasing precedence.
enum class Source : std::uint8_t {
    default_value,
    model,
    weights,  // a file of weights that the line names
    environment,
    config,
    arguments,
    command_line,
    adjusted,
};

/// True if the user set the value.
bool given(Source source);

}  // namespace cnntrain::config
