// Checkpoints whose checksums do not fit.
#pragma once

#include <string_view>

namespace cnntrain::checkpoint {

/// The checksums cannot tell damage from what another tool changed on purpose: only the user knows.
enum class Edited {
    refused,  // Error(data)
    trusted,  // a warning; everything else about the file is checked as always
};

/// With which the user says so; the error names it.
inline constexpr std::string_view kTrustFlag = "--trust-edited-checkpoint";

constexpr Edited edited_if(bool trusted) {
    return trusted ? Edited::trusted : Edited::refused;
}

}  // namespace cnntrain::checkpoint
