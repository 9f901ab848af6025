// A short fingerprint of much text: 64-bit FNV-1a. For telling apart what was changed, not against forgery.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace cnntrain::data {

class Digest {
public:
    /// The length counts too, so that ("ab", "c") differs from ("a", "bc").
    void add(std::string_view text) {
        add(static_cast<std::uint64_t>(text.size()));
        for (const char c : text) {
            add_byte(static_cast<unsigned char>(c));
        }
    }
    void add(std::uint64_t value) {
        for (int shift = 0; shift < 64; shift += 8) {
            add_byte(static_cast<unsigned char>(value >> shift));
        }
    }
    std::string text() const {
        std::array<char, 17> hex{};
        std::snprintf(hex.data(), hex.size(), "%016llx", static_cast<unsigned long long>(state_));
        return hex.data();
    }

private:
    void add_byte(unsigned char byte) { state_ = (state_ ^ byte) * 0x100000001b3U; }

    std::uint64_t state_ = 0xcbf29ce484222325U;
};

}  // namespace cnntrain::data
