// Judging a JPEG: its header, and whether every bit of it decodes. Stricter than decoding for training.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace cnntrain::data {

enum class JpegColours { grey, colour, inks };  // inks: CMYK, YCCK

struct JpegHeader {
    std::int64_t height = 0;
    std::int64_t width = 0;
    JpegColours colours = JpegColours::colour;
    bool progressive = false;
};

/// One thread's.
class JpegChecker {
public:
    JpegChecker();
    ~JpegChecker();

    /// Nothing when this is not a JPEG.
    std::optional<JpegHeader> header(std::span<const std::byte> jpeg);
    /// Decodes all of it. "" if libjpeg has nothing to say, otherwise its error or its first warning (jpeg_errors.h).
    std::string problem(std::span<const std::byte> jpeg);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace cnntrain::data
