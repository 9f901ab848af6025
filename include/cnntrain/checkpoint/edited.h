// Checkpoints whose checksums are wrong.
#pragma once

#include <string_view>

namespace cnntrain::checkpoint {

/// Checksums cannot tell damage from a deliberate edit by another tool: only the user knows.
enum class Edited {
    refused,  // Error(data)
    trusted,  // a warning; everything else about the file is checked as always
    ignored,  // nothing: the file is only looked at, and whoever reads its weights decides
};

/// The option by which the user trusts an edit; the error names it.
inline constexpr std::string_view kTrustFlag = "--trust-edited-checkpoint";

constexpr Edited edited_if(bool trusted) {
    return trusted ? Edited::trusted : Edited::refused;
}

}  // namespace cnntrain::checkpoint
