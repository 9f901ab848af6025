// Comma-separated values as RFC 4180 describes them.
#pragma once

#include <string>

namespace cnntrain {

inline std::string csv_quoted(const std::string& text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}

/// Quoted when it has a comma, a quote or a line end.
inline std::string csv_field(const std::string& text) {
    return text.find_first_of(",\"\r\n") == std::string::npos ? text : csv_quoted(text);
}

}  // namespace cnntrain
