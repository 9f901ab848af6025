// Comma-separated values as RFC 4180 describes them.
#pragma once

#include <string>

namespace cnntrain {

/// Quoted when it has a comma, a quote or a line end.
inline std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}

}  // namespace cnntrain
