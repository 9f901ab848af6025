// Checks a JPEG: its header, and whether all of it decodes. Stricter than decoding for training.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace cnntrain::data {

enum class JpegColours { grey, colour, inks };  // inks: CMYK or YCCK

struct JpegHeader {
    std::int64_t height = 0;
    std::int64_t width = 0;
    JpegColours colours = JpegColours::colour;
    bool progressive = false;
};

/// For use by one thread.
class JpegChecker {
public:
    JpegChecker();
    ~JpegChecker();

    /// Empty if this is not a JPEG.
    std::optional<JpegHeader> header(std::span<const std::byte> jpeg);
    /// Decodes the whole image. "" if libjpeg reports nothing, otherwise its error or its first warning
    /// (jpeg_errors.h).
    std::string problem(std::span<const std::byte> jpeg);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace cnntrain::data
