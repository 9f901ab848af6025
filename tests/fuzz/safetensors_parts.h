// A safetensors file as the two parts that are worth changing: its header's text and its tensors, with a zero byte
// between.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "cnntrain/base/hash.h"
#include "weights/format.h"

namespace cnntrain::fuzz {

inline std::string parts_of(const std::string& file) {
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), sizeof length);
    return file.substr(weights::kLengthBytes, length) + '\0' + file.substr(weights::kLengthBytes + length);
}

/// The file of these parts, with the right length and checksums, so that what follows the checksums is reached.
inline std::string sound_file(std::string_view parts) {
    const auto put_digits = [](std::string& header, std::string_view before, const std::string& digits) {
        const std::size_t at = header.find(before);
        if (at != std::string::npos) header.replace(at + before.size(), digits.size(), digits);
    };
    const auto crc_of = [](std::string_view text) { return hex_text(crc32c(std::as_bytes(std::span(text)))); };
    const std::size_t zero = std::min(parts.find('\0'), parts.size());
    std::string header(parts.substr(0, zero));
    const std::string_view tensors = parts.substr(std::min(zero + 1, parts.size()));
    put_digits(header, R"("tensors_crc32c":")", crc_of(tensors));
    put_digits(header, weights::kHeaderBegin, std::string(weights::kNoDigits));
    put_digits(header, weights::kHeaderBegin, crc_of(header));
    const std::uint64_t length = header.size();
    std::string file(reinterpret_cast<const char*>(&length), sizeof length);
    return file.append(header).append(tensors);
}

}  // namespace cnntrain::fuzz
