// Decompression of Snappy blocks. Format: google/snappy's format_description.txt.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cnntrain::checkpoint {

/// Error(data) for bytes that are no such block. `where` names them.
std::string decompress_snappy(std::span<const std::byte> block, std::string_view where);

}  // namespace cnntrain::checkpoint
