// Values of options, and who set them.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace cnntrain::config {

/// Value of an option; std::monostate is "not given, and there is no default".
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                           std::vector<double>, std::vector<std::string>>;

/// As it stands on a command line: "0.1", "true", "a b"; "none" for std::monostate.
std::string to_string(const Value& value);
bool is_unset(const Value& value);

/// Who set a value. A later one wins over an earlier one.
enum class Source : std::uint8_t { default_value, model, environment, config, arguments, command_line, adjusted };

/// Was it the user who set this?
bool given(Source source);

}  // namespace cnntrain::config
