// Image files of the formats besides JPEG and PNG, for tests. "" if the build does not read the format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cnntrain::data {

/// Pixels as they are encoded: rows of RGB, or of RGBA.
struct RawImage {
    int height = 0;
    int width = 0;
    int channels = 3;
    std::vector<std::uint8_t> pixels;
};

/// Colours of two ramps; alpha falls from the left to the right.
RawImage make_ramp(int height, int width, int channels = 3);

/// 24 bits a pixel; with alpha, 32.
std::string encode_bmp(const RawImage& image);
/// Run lengths of palette indices; the palette is grey.
std::string encode_runs_bmp(int height, int width);
/// Colours are rounded to a palette of 6 x 6 x 6 (multiples of 51).
std::string encode_gif(const RawImage& image, bool interlaced = false);
/// Lossless.
std::string encode_webp(const RawImage& image);
/// AVIF or HEIC, without loss.
std::string encode_heif(const RawImage& image, bool is_avif);
/// Compressed with LZW, with Exif's orientation.
std::string encode_tiff(const RawImage& image, int orientation = 1);

struct PackedFile {
    std::string name;  // of at most 99 bytes
    std::string content;
    char type = '0';  // of tar
};

/// A tar archive of POSIX's ustar form with these files.
std::string encode_tar(const std::vector<PackedFile>& files);
/// Sets the checksum of each header in an archive.
void set_tar_checksums(std::string& archive);

/// A JPEG with an Exif segment of the orientation after its first marker.
std::string with_orientation(const std::string& jpeg, int orientation);

}  // namespace cnntrain::data
