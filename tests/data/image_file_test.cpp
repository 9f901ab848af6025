// Files of every format through the one decoder of photos.
#include "data/images/image_file.h"

#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <thread>

#include "cnntrain/base/rng.h"
#include "data/format_fixtures.h"
#include "fixtures.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::data {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

struct Decoded {
    ImageSize size;
    std::vector<std::uint8_t> pixels;
    bool operator==(const Decoded&) const = default;
};

Decoded decoded(const std::string& file, Exif exif = Exif::applied) {
    Workspace workspace;
    const ImageFile image(bytes_of(file), exif, workspace);
    const ImageSize size = image.size();
    const PixelView view = image.decode({0, 0, size.height, size.width}, {DctMethod::accurate});
    Decoded result{size, {}};
    for (std::int64_t y = 0; y < size.height; ++y) {
        const std::uint8_t* const row = view.pixels + y * view.row_bytes;
        result.pixels.insert(result.pixels.end(), row, row + size.width * 3);
    }
    return result;
}

std::string error_of(const std::string& file) {
    return message_of(ErrorKind::data, [&] { decoded(file); });
}

/// The lossless encoders of this build, by name.
std::map<std::string, std::function<std::string(const RawImage&)>> encoders() {
    std::map<std::string, std::function<std::string(const RawImage&)>> all = {
        {"PNG",
         [](const RawImage& image) {
             return encode_png({image.height, image.width, 3, image.pixels});
         }},
        {"BMP", [](const RawImage& image) { return encode_bmp(image); }},
        {"GIF", [](const RawImage& image) { return encode_gif(image); }},
        {"WebP", [](const RawImage& image) { return encode_webp(image); }},
        {"TIFF", [](const RawImage& image) { return encode_tiff(image); }}};
    std::erase_if(all, [](const auto& item) { return item.second(make_ramp(2, 2)).empty(); });
    return all;
}

TEST(ImageFile, EveryLosslessFormatGivesItsPixels) {
    const RawImage image = make_ramp(13, 29);
    for (const auto& [name, encode] : encoders()) {
        const std::string file = encode(image);
        EXPECT_EQ(format_name(*file_format(bytes_of(file))), name);
        EXPECT_EQ(decoded(file), (Decoded{{13, 29}, image.pixels})) << name;
        EXPECT_EQ(claimed_size(bytes_of(file), *file_format(bytes_of(file))), (ImageSize{13, 29})) << name;
    }
}

/// Their encoders round once.
TEST(ImageFile, FormatsOfPhonesGiveTheirPixels) {
    for (const bool is_avif : {false, true}) {
        const RawImage image = make_ramp(72, 88);
        const std::string file = encode_heif(image, is_avif);
        if (file.empty()) continue;  // a build without libheif, or a system without its encoders
        EXPECT_EQ(format_name(*file_format(bytes_of(file))), is_avif ? "AVIF" : "HEIC");
        EXPECT_EQ(claimed_size(bytes_of(file), *file_format(bytes_of(file))), (ImageSize{72, 88}));
        const Decoded result = decoded(file);
        EXPECT_EQ(result.size, (ImageSize{72, 88}));
        ASSERT_EQ(result.pixels.size(), image.pixels.size());
        for (std::size_t i = 0; i < image.pixels.size(); ++i)
            ASSERT_NEAR(result.pixels[i], image.pixels[i], 1) << i;
        const Decoded transparent = decoded(encode_heif(make_ramp(72, 88, 4), is_avif));
        EXPECT_NEAR(transparent.pixels[3 * 87], 255, 1);
        EXPECT_NEAR(transparent.pixels[0], image.pixels[0], 1);
        EXPECT_THAT(error_of(file.substr(0, file.size() / 2)), HasSubstr("cannot be decoded"));
    }
}

/// The box with the most pixels counts, with sides up to 2^32 - 1.
TEST(ImageFile, TheLargestSizeInAHeifFileCounts) {
    const auto box = [](const char* width, const char* height) {
        return std::string("ispe\0\0\0\0", 8) + width + height;
    };
    const std::string small = box("\x01\x01\x01\x01", "\x01\x01\x01\x01");
    const std::string large = box("\xff\xff\xff\xff", "\xff\xff\xff\xfe");
    const std::string file = std::string("\0\0\0\x18", 4) + "ftypheic" + small + large + small;
    EXPECT_EQ(claimed_size(bytes_of(file), FileFormat::heic), (ImageSize{0xfffffffe, 0xffffffff}));
}

TEST(ImageFile, TransparentPartsBecomeWhite) {
    const RawImage image = make_ramp(6, 16, 4);
    for (const std::string& file : {encode_bmp(image), encode_webp(image), encode_tiff(image)}) {
        if (file.empty()) continue;
        const Decoded result = decoded(file);
        EXPECT_EQ(std::vector(result.pixels.begin(), result.pixels.begin() + 3),
                  std::vector(image.pixels.begin(), image.pixels.begin() + 3));
        EXPECT_EQ(std::vector(result.pixels.begin() + 45, result.pixels.begin() + 48),
                  (std::vector<std::uint8_t>{255, 255, 255}));
        // The value 51 with alpha 238, blended in linear light: 0.0331 x 0.933 + 0.0667.
        EXPECT_NEAR(result.pixels[3], 88, 1);
    }
}

TEST(ImageFile, RunLengthsOfBmpStartAtTheBottom) {
    const Decoded result = decoded(encode_runs_bmp(3, 4));
    EXPECT_EQ(result.size, (ImageSize{3, 4}));
    EXPECT_EQ(result.pixels.front(), 20);
    EXPECT_EQ(result.pixels.back(), 0);
}

TEST(ImageFile, InterlacedGifsHaveTheirRowsInOrder) {
    const RawImage image = make_ramp(21, 10);
    const std::string file = encode_gif(image, true);
    if (file.empty()) GTEST_SKIP() << "built without giflib";
    EXPECT_EQ(decoded(file).pixels, image.pixels);
}

/// Exif's definition: where the first row and the first column of the stored image are in the upright one.
TEST(ImageFile, OrientationsAreExifs) {
    const std::string jpeg = encode_jpeg(make_photo(40, 24));
    const Decoded stored = decoded(jpeg);
    const std::int64_t height = stored.size.height;
    const std::int64_t width = stored.size.width;
    using Place = std::pair<std::int64_t, std::int64_t>;
    const std::function<Place(std::int64_t, std::int64_t)> upright_place[] = {
        [](auto row, auto column) {
            return Place{row, column};
        },
        [&](auto row, auto column) {
            return Place{row, width - 1 - column};
        },
        [&](auto row, auto column) {
            return Place{height - 1 - row, width - 1 - column};
        },
        [&](auto row, auto column) {
            return Place{height - 1 - row, column};
        },
        [](auto row, auto column) {
            return Place{column, row};
        },
        [&](auto row, auto column) {
            return Place{column, height - 1 - row};
        },
        [&](auto row, auto column) {
            return Place{width - 1 - column, height - 1 - row};
        },
        [&](auto row, auto column) {
            return Place{width - 1 - column, row};
        }};
    for (int orientation = 1; orientation <= 8; ++orientation) {
        const std::string file = with_orientation(jpeg, orientation);
        EXPECT_EQ(decoded(file, Exif::ignored), stored) << orientation;
        const Decoded upright = decoded(file);
        ASSERT_EQ(upright.size, orientation > 4 ? (ImageSize{width, height}) : stored.size);
        bool same = true;
        for (std::int64_t row = 0; row < height; ++row) {
            for (std::int64_t column = 0; column < width; ++column) {
                const auto [y, x] = upright_place[orientation - 1](row, column);
                const auto at = static_cast<std::size_t>((y * upright.size.width + x) * 3);
                const auto from = static_cast<std::size_t>((row * width + column) * 3);
                same = same && std::equal(&upright.pixels[at], &upright.pixels[at] + 3, &stored.pixels[from]);
            }
        }
        EXPECT_TRUE(same) << orientation;
    }
}

TEST(ImageFile, TiffsOrientationIsItsOwn) {
    const RawImage image = make_ramp(5, 9);
    const std::string file = encode_tiff(image, 6);
    if (file.empty()) GTEST_SKIP() << "built without libtiff";
    EXPECT_EQ(decoded(file, Exif::ignored).pixels, image.pixels);
    const Decoded upright = decoded(file);
    ASSERT_EQ(upright.size, (ImageSize{9, 5}));
    EXPECT_EQ(std::vector(upright.pixels.end() - 3, upright.pixels.end()),
              std::vector(image.pixels.begin() + 8 * 3, image.pixels.begin() + 9 * 3));
}

/// A part of a turned and shrunken image is the same part of the turned whole, and lies where the whole image has it.
TEST(ImageFile, PartsOfTurnedImagesAreThoseOfTheWhole) {
    const std::string jpeg = encode_jpeg(make_photo(203, 157), {.horizontal_sampling = 1, .vertical_sampling = 1});
    for (int orientation = 1; orientation <= 8; ++orientation) {
        const std::string file = with_orientation(jpeg, orientation);
        for (const int shrink : {1, 2, 4}) {
            Workspace for_whole;
            Workspace for_part;
            const ImageFile whole_file(bytes_of(file), Exif::applied, for_whole);
            const ImageSize size = whole_file.size();
            const PixelView whole = whole_file.decode({0, 0, size.height, size.width}, {DctMethod::fast, shrink});
            const Rectangle part{31, 17, 90, 105};
            const PixelView view =
                ImageFile(bytes_of(file), Exif::applied, for_part).decode(part, {DctMethod::fast, shrink});
            EXPECT_EQ(view.part.height, part.height);
            EXPECT_EQ(view.part.top - whole.part.top, part.top);
            EXPECT_EQ(view.part.left - whole.part.left, part.left);
            bool same = true;
            for (std::int64_t y = 0; y < view.size.height; ++y) {
                const std::uint8_t* const row = view.pixels + y * view.row_bytes;
                const std::uint8_t* const wanted =
                    whole.pixels + (view.top - whole.top + y) * whole.row_bytes + (view.left - whole.left) * 3;
                same = same && std::equal(row, row + view.size.width * 3, wanted);
            }
            EXPECT_TRUE(same) << orientation << " shrunken by " << shrink;
        }
    }
}

TEST(ImageFile, DamagedExifDataMeanUpright) {
    const std::string jpeg = encode_jpeg(make_photo(8, 8));
    for (const int value : {0, 9, 200})
        EXPECT_EQ(stored_orientation(bytes_of(with_orientation(jpeg, value)), FileFormat::jpeg), Orientation());
    const std::string turned = with_orientation(jpeg, 6);
    EXPECT_EQ(stored_orientation(bytes_of(turned), FileFormat::jpeg), Orientation::from_exif(6));
    for (std::size_t size = 2; size < 34; ++size)
        EXPECT_EQ(stored_orientation(bytes_of(turned.substr(0, size)), FileFormat::jpeg), Orientation()) << size;
}

TEST(ImageFile, HugeImagesAreRefusedByTheirHeaders) {
    const auto with = [](std::string file, std::size_t at, const std::string& bytes) {
        return file.replace(at, bytes.size(), bytes);
    };
    const RawImage small = make_ramp(4, 4);
    EXPECT_THAT(error_of(with(encode_bmp(small), 18, std::string("\x30\x75\0\0\x30\x75\0\0", 8))),
                HasSubstr("claims 30000 x 30000 pixels"));
    EXPECT_THAT(error_of(with(encode_bmp(small), 18, std::string("\0\0\0\0\0\0\0\0", 8))), HasSubstr("pixels"));
    const std::string gif = encode_gif(small);
    if (gif.empty()) GTEST_SKIP() << "built without giflib";
    EXPECT_THAT(error_of(with(gif, 6, "\x30\x75\x30\x75")), HasSubstr("claims 30000 x 30000 pixels"));
}

TEST(ImageFile, ErrorsNameFormatAndFault) {
    const RawImage image = make_ramp(40, 40);
    for (const auto& [name, encode] : encoders()) {
        const std::string file = encode(image);
        for (const std::size_t size : {file.size() / 4, file.size() / 2})
            EXPECT_THAT(error_of(file.substr(0, size)), HasSubstr(name)) << size;
    }
    EXPECT_THAT(error_of("hello, world"), HasSubstr("JPEG"));
    EXPECT_THAT(error_of("%PDF-1.7 and more"), HasSubstr("PDF"));
    EXPECT_THAT(error_of(std::string("\0\0\0\x18"
                                     "ftypheic",
                                     12)),
                HasSubstr("HEIC"));
    EXPECT_THAT(error_of(""), HasSubstr("empty"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers map terabytes
/// Limits the process's memory until it goes out of scope.
class DataLimit {
public:
    explicit DataLimit(rlim_t bytes_more) {
        getrlimit(RLIMIT_DATA, &before_);
        const rlim_t plenty = rlim_t{1} << 40;
        const rlimit wide{plenty, before_.rlim_max};
        setrlimit(RLIMIT_DATA, &wide);
        const rlim_t used = plenty - left_of_limit();
        const rlimit limit{used + bytes_more, before_.rlim_max};
        setrlimit(RLIMIT_DATA, &limit);
    }
    ~DataLimit() { setrlimit(RLIMIT_DATA, &before_); }
    DataLimit(const DataLimit&) = delete;
    DataLimit& operator=(const DataLimit&) = delete;

private:
    /// VmData of the process counts against the limit.
    static rlim_t left_of_limit() {
        std::ifstream status("/proc/self/status");
        for (std::string word; status >> word;) {
            rlim_t kilobytes = 0;
            if (word == "VmData:" && status >> kilobytes) return (rlim_t{1} << 40) - kilobytes * 1024;
        }
        return 0;
    }
    rlimit before_{};
};

TEST(LargeImage, MustFitIntoHalfOfTheMemoryThatIsLeft) {
    constexpr rlim_t kMega = rlim_t{1} << 20;
    const DataLimit limit(400 * kMega);
    const std::string claim = encode_png(make_photo(8, 8)).replace(16, 8, std::string("\0\0\x32\xc8\0\0\x32\xc8", 8));
    EXPECT_THAT(error_of(claim), HasSubstr("13000 x 13000"));
    const LargeImage fits({4000, 4000}, 8);
}

/// Two large images do not fit at once.
TEST(LargeImage, WaitsForAnotherOne) {
    constexpr rlim_t kMega = rlim_t{1} << 20;
    const DataLimit limit(400 * kMega);
    std::atomic<bool> released = false;
    auto first = std::make_unique<LargeImage>(ImageSize{4000, 4000}, 8);
    std::thread other([&] {
        const LargeImage second({4000, 4000}, 8);
        EXPECT_TRUE(released);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    released = true;
    first.reset();
    other.join();
}
#endif

}  // namespace
}  // namespace cnntrain::data
