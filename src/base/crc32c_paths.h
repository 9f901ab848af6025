// The two ways to compute CRC-32C, for the test that compares them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cnntrain {

std::uint32_t crc32c_by_table(std::span<const std::byte> data, std::uint32_t crc);

/// Call it only where crc32c_instruction_available().
std::uint32_t crc32c_by_instruction(std::span<const std::byte> data, std::uint32_t crc);
bool crc32c_instruction_available();

}  // namespace cnntrain
