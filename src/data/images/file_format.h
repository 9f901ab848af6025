// Detects the image format from the first bytes; the name is ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/images/jpeg.h"

namespace cnntrain::data {

enum class FileFormat : std::uint8_t { jpeg, png, webp, bmp, gif, tiff };

/// Number of bytes at the beginning of a file that determine its format.
inline constexpr std::size_t kFormatBytes = 16;

/// The format of a file; empty if this program does not know it.
std::optional<FileFormat> file_format(std::span<const std::byte> file);

/// "JPEG", "WebP".
std::string_view format_name(FileFormat format);

/// The Debian package without which this program was built, so that it does not read the format; "" if it does.
std::string_view missing_package(FileFormat format);

/// The name of a common kind of file that is not read, such as "HEIC" or "PDF"; "" for other bytes.
std::string_view unread_kind(std::span<const std::byte> file);

/// Describes a file without a known format, for messages.
std::string unknown_format_text(std::span<const std::byte> file);

/// The size that the header claims, without orientation. Nothing if `head`, the beginning of the file, does not reach
/// that far, or for a TIFF file with 64-bit offsets.
std::optional<ImageSize> claimed_size(std::span<const std::byte> head, FileFormat format);

/// Highest number of bytes that decoding takes for each pixel.
std::uint64_t decoding_bytes_per_pixel(std::span<const std::byte> file, FileFormat format);

/// Decodes a whole image, as it is stored, into `pixels`: rows of RGB without gaps, and kReadableBehindView bytes after
/// them. Of several images in a file, the first one. Transparent parts become white, 16 bits become 8. Error(data) says
/// what is wrong with the image; the caller adds the file. Not for JPEG, which has its own decoder.
ImageSize decode_whole(FileFormat format, std::span<const std::byte> file, std::vector<std::uint8_t>& pixels);

}  // namespace cnntrain::data
