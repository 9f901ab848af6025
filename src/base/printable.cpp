#include "cnntrain/base/printable.h"

#include <nlohmann/json.hpp>

#include "cnntrain/base/format.h"

namespace cnntrain {

bool is_utf8(std::string_view text) {
    try {
        static_cast<void>(nlohmann::json(text).dump());
        return true;
    } catch (const nlohmann::json::type_error&) {
        return false;
    }
}

std::string printable(std::string_view text) {
    const bool is_text = is_utf8(text);
    std::string shown;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool hidden = byte < 0x20 || byte == 0x7f || (!is_text && byte >= 0x80);
        shown += hidden ? formatted("\\x%02x", static_cast<unsigned>(byte)) : std::string(1, c);
    }
    return shown;
}

}  // namespace cnntrain
