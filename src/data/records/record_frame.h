// The framing of a record in a TFRecord file, for code that reads and writes the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace cnntrain::data {

inline constexpr std::uint64_t kRecordHeaderBytes = 12;  // u64 length and its masked CRC
inline constexpr std::uint64_t kRecordFooterBytes = 4;   // masked CRC of the payload
inline constexpr std::uint64_t kRecordFrameBytes = kRecordHeaderBytes + kRecordFooterBytes;
/// Protocol-buffer messages are limited to this size.
inline constexpr std::uint64_t kMostPayloadBytes = (std::uint64_t{1} << 31) - 1;

template <typename T> T load_little_endian(std::span<const std::byte> bytes) {
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
        value |= static_cast<T>(static_cast<T>(bytes[i]) << (8 * i));
    return value;
}

template <typename T> void store_little_endian(T value, std::span<std::byte> bytes) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
        bytes[i] = static_cast<std::byte>(value >> (8 * i));
}

/// Appends the record as stored in a file, with its frame.
void append_record(std::span<const std::byte> payload, std::string& bytes);

/// Throws Error(data): "<path>, record <n> (at byte <offset>): <what>".
[[noreturn]] void fail_record(const std::string& path, std::int64_t record, std::uint64_t offset,
                              const std::string& what);

}  // namespace cnntrain::data
