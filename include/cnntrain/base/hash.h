// Fingerprints: CRC-32C of bytes, and 64-bit FNV-1a of text (http://www.isthe.com/chongo/tech/comp/fnv). They are the
// same numbers in every process and version, so that files and seeds may depend on them. They tell contents apart and
// do not protect against forgery.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace cnntrain {

inline constexpr std::uint64_t kHashOfNothing = 0xcbf29ce484222325U;

/// `hash` continues an earlier one.
constexpr std::uint64_t hash_text(std::string_view text, std::uint64_t hash = kHashOfNothing) {
    for (const char c : text)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    return hash;
}

/// 16 hexadecimal digits.
inline std::string hex_text(std::uint64_t hash) {
    std::array<char, 17> hex{};
    std::snprintf(hex.data(), hex.size(), "%016llx", static_cast<unsigned long long>(hash));
    return hex.data();
}

/// 8 hexadecimal digits.
inline std::string hex_text(std::uint32_t checksum) {
    std::array<char, 9> hex{};
    std::snprintf(hex.data(), hex.size(), "%08x", checksum);
    return hex.data();
}

/// The fingerprint of a list of texts and numbers.
class Digest {
public:
    /// The length counts too, so that ("ab", "c") differs from ("a", "bc").
    void add(std::string_view text) {
        add(static_cast<std::uint64_t>(text.size()));
        hash_ = hash_text(text, hash_);
    }
    void add(std::uint64_t value) {
        std::array<char, sizeof value> bytes{};  // the lowest first
        for (std::size_t i = 0; i < bytes.size(); ++i)
            bytes[i] = static_cast<char>(value >> (8 * i));
        hash_ = hash_text({bytes.data(), bytes.size()}, hash_);
    }
    std::string text() const { return hex_text(hash_); }

private:
    std::uint64_t hash_ = kHashOfNothing;
};

// CRC-32C (Castagnoli, RFC 3720 appendix B.4) and TFRecord's masked form.

/// Uses the processor's instruction where there is one.
std::uint32_t crc32c(std::span<const std::byte> data, std::uint32_t crc = 0);

/// ((crc >> 15) | (crc << 17)) + 0xa282ead8, as stored in TFRecord files.
constexpr std::uint32_t mask_crc(std::uint32_t crc) {
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace cnntrain
