// Text inside XML: JUnit reports, SVG pictures.
#pragma once

#include <string>
#include <string_view>

namespace cnntrain {

/// As content of an element or of a quoted attribute; characters that XML cannot hold become '?'.
inline std::string xml_text(std::string_view text) {
    std::string result;
    for (const char c : text) {
        switch (c) {
            case '&':
                result += "&amp;";
                break;
            case '<':
                result += "&lt;";
                break;
            case '>':
                result += "&gt;";
                break;
            case '"':
                result += "&quot;";
                break;
            default:
                result += static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t' ? '?' : c;
        }
    }
    return result;
}

}  // namespace cnntrain
