// The file of an image, in any format that this program decodes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/data/dataset.h"
#include "data/images/jpeg.h"

namespace cnntrain::data {

// Detects the image format from the first bytes; the name is ignored.

enum class FileFormat : std::uint8_t { jpeg, png, webp, bmp, gif, tiff, heic, avif };

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

// The memory that threads take at once to decode large images.

/// A share of the memory that the process may still take, for one image as long as its pixels are needed. Where memory
/// is short, large images are decoded one after the other.
class LargeImage {
public:
    LargeImage() = default;
    /// Waits until there is room. Error(data) if there is none even for this image alone.
    LargeImage(ImageSize size, std::uint64_t bytes_per_pixel);
    ~LargeImage();
    LargeImage(const LargeImage&) = delete;
    LargeImage& operator=(const LargeImage&) = delete;

private:
    std::uint64_t bytes_ = 0;
};

// Turns images that were stored turned or mirrored.

/// Transformation of the rows and columns of a stored image to those of the upright one.
struct Orientation {
    bool transposed = false;        // upright rows are stored as columns
    bool rows_reversed = false;     // the stored rows, from the last one
    bool columns_reversed = false;  // the stored columns

    bool operator==(const Orientation&) const = default;

    /// Values 1 to 8 of Exif's tag 0x0112; others mean upright.
    static Orientation from_exif(int value);

    /// The size of the upright image.
    ImageSize upright(ImageSize stored) const { return transposed ? ImageSize{stored.width, stored.height} : stored; }
    /// The part of a stored image that shows `part` of the upright one.
    Rectangle stored(const Rectangle& part, ImageSize stored) const;
};

/// Copies a view of a stored image into `buffer`, turned upright. A part of a shrunken view keeps its place to a
/// fraction of a pixel: positions count from where the shrunken image begins, which may lie before the full one.
PixelView turned_upright(const PixelView& view, Orientation orientation, ImageSize stored,
                         std::vector<std::uint8_t>& buffer);

/// Treatment of the orientation in Exif data.
enum class Exif : std::uint8_t { ignored, applied };

/// Opened for one view of it. The first bytes of the file determine its format. Error(data) describes the fault in the
/// image; the caller adds the file.
class ImageFile {
public:
    /// Reads the header, or decodes all of an image that cannot be decoded in parts. `bytes` and `workspace` must
    /// outlive this object; the time is counted in the workspace's seconds.
    ImageFile(std::span<const std::byte> bytes, Exif exif, Workspace& workspace);
    /// Frees the memory of a very large image.
    ~ImageFile();
    ImageFile(const ImageFile&) = delete;
    ImageFile& operator=(const ImageFile&) = delete;

    FileFormat format() const { return format_; }
    /// The image is shown otherwise than it is stored.
    bool is_turned() const { return orientation_ != Orientation(); }
    ImageSize size() const { return orientation_.upright(stored_size_); }
    /// Call it once. The view is valid as long as this object, and until the workspace is used for another image.
    PixelView decode(const Rectangle& part, const DecodeHow& how) const;

private:
    PixelView stored_view(const Rectangle& part, const DecodeHow& how) const;

    Workspace& workspace_;
    FileFormat format_;
    LargeImage room_;
    Orientation orientation_;
    ImageSize stored_size_;
};

// The orientation in which a camera stored an image.

/// The orientation in the Exif data of a JPEG, PNG or WebP file, or in the first directory of a TIFF file. Upright if
/// there is none, or if it is damaged: no image is refused for its Exif data.
Orientation stored_orientation(std::span<const std::byte> file, FileFormat format);

// Measures the time of each stage of making a sample.

/// Adds the time since construction, or since the previous call, to a stage.
class StageClock {
public:
    void add_to(double& seconds) {
        const auto now = std::chrono::steady_clock::now();
        seconds += std::chrono::duration<double>(now - last_).count();
        last_ = now;
    }

private:
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace cnntrain::data
