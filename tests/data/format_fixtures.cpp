#include "data/format_fixtures.h"

#include <algorithm>
#include <array>
#include <cstdio>

#ifdef CNNTRAIN_GIF
#include <gif_lib.h>
#endif
#ifdef CNNTRAIN_HEIF
#include <libheif/heif.h>
#endif
#ifdef CNNTRAIN_TIFF
#include <tiffio.h>
#endif
#ifdef CNNTRAIN_WEBP
#include <webp/encode.h>
#endif

namespace cnntrain::data {
namespace {

std::string little(std::uint32_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i)
        text += static_cast<char>(value >> (8 * i));
    return text;
}

std::string bmp_file(const RawImage& image, int bits, int compression, const std::string& behind_header,
                     const std::string& pixels) {
    const bool has_masks = compression == 3;
    const std::uint32_t header = has_masks ? 108 : 40;
    const std::uint32_t offset = 14 + header + static_cast<std::uint32_t>(has_masks ? 0 : behind_header.size());
    std::string info = little(header, 4) + little(static_cast<std::uint32_t>(image.width), 4) +
                       little(static_cast<std::uint32_t>(image.height), 4) + little(1, 2) +
                       little(static_cast<std::uint32_t>(bits), 2) +
                       little(static_cast<std::uint32_t>(compression), 4) + std::string(20, '\0') + behind_header;
    if (has_masks) info.resize(header, '\0');
    return "BM" + little(offset + static_cast<std::uint32_t>(pixels.size()), 4) + little(0, 4) + little(offset, 4) +
           info + pixels;
}

}  // namespace

RawImage make_ramp(int height, int width, int channels) {
    RawImage image{height, width, channels, {}};
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            const std::uint8_t pixel[] = {static_cast<std::uint8_t>(51 * (x % 6)),
                                          static_cast<std::uint8_t>(51 * (y % 6)),
                                          static_cast<std::uint8_t>(51 * ((x + y) / 6 % 6)),
                                          static_cast<std::uint8_t>(255 - 255 * x / std::max(width - 1, 1))};
            image.pixels.insert(image.pixels.end(), pixel, pixel + channels);
        }
    }
    return image;
}

std::string encode_bmp(const RawImage& image) {
    std::string pixels;
    for (int y = image.height - 1; y >= 0; --y) {
        for (int x = 0; x < image.width; ++x) {
            const std::uint8_t* const from =
                image.pixels.data() + static_cast<std::size_t>((y * image.width + x) * image.channels);
            for (const int channel : {2, 1, 0, 3}) {
                if (channel < image.channels) pixels += static_cast<char>(from[channel]);
            }
        }
        pixels.resize((pixels.size() + 3) / 4 * 4, '\0');
    }
    if (image.channels == 3) return bmp_file(image, 24, 0, "", pixels);
    return bmp_file(image, 32, 3, little(0xff0000, 4) + little(0xff00, 4) + little(0xff, 4) + little(0xff000000, 4),
                    pixels);
}

std::string encode_runs_bmp(int height, int width) {
    std::string palette;
    for (std::uint32_t i = 0; i < 256; ++i)
        palette += little(0x010101 * i, 4);
    std::string runs;
    for (int y = 0; y < height; ++y) {
        runs += static_cast<char>(width);
        runs += static_cast<char>(10 * y);
        runs += std::string("\0\0", 2);
    }
    return bmp_file({height, width, 3, {}}, 8, 1, palette, runs + std::string("\0\1", 2));
}

std::string encode_gif(const RawImage& image, bool interlaced) {
#ifdef CNNTRAIN_GIF
    std::string bytes;
    int error = 0;
    const auto append = [](GifFileType* gif, const GifByteType* from, int count) {
        static_cast<std::string*>(gif->UserData)
            ->append(reinterpret_cast<const char*>(from), static_cast<std::size_t>(count));
        return count;
    };
    GifFileType* const gif = EGifOpen(&bytes, append, &error);
    ColorMapObject* const map = GifMakeMapObject(256, nullptr);
    for (int i = 0; i < 216; ++i) {
        map->Colors[i] = {static_cast<GifByteType>(51 * (i / 36)), static_cast<GifByteType>(51 * (i / 6 % 6)),
                          static_cast<GifByteType>(51 * (i % 6))};
    }
    EGifPutScreenDesc(gif, image.width, image.height, 8, 0, map);
    EGifPutImageDesc(gif, 0, 0, image.width, image.height, interlaced, nullptr);
    const int firsts[] = {0, 4, 2, 1};
    const int steps[] = {8, 8, 4, 2};
    for (int pass = 0; pass < (interlaced ? 4 : 1); ++pass) {
        for (int y = interlaced ? firsts[pass] : 0; y < image.height; y += interlaced ? steps[pass] : 1) {
            std::vector<GifPixelType> row;
            for (int x = 0; x < image.width; ++x) {
                const std::uint8_t* const from =
                    image.pixels.data() + static_cast<std::size_t>((y * image.width + x) * 3);
                row.push_back(static_cast<GifPixelType>(from[0] / 51 * 36 + from[1] / 51 * 6 + from[2] / 51));
            }
            EGifPutLine(gif, row.data(), image.width);
        }
    }
    EGifCloseFile(gif, &error);
    GifFreeMapObject(map);
    return bytes;
#else
    static_cast<void>(image);
    static_cast<void>(interlaced);
    return "";
#endif
}

std::string encode_heif(const RawImage& image, bool is_avif) {
    std::string file;
#ifdef CNNTRAIN_HEIF
    heif_context* const context = heif_context_alloc();
    heif_encoder* encoder = nullptr;
    const auto format = is_avif ? heif_compression_AV1 : heif_compression_HEVC;
    if (heif_context_get_encoder_for_format(context, format, &encoder).code == heif_error_Ok) {
        heif_image* pixels = nullptr;
        const auto chroma = image.channels == 4 ? heif_chroma_interleaved_RGBA : heif_chroma_interleaved_RGB;
        heif_image_create(image.width, image.height, heif_colorspace_RGB, chroma, &pixels);
        heif_image_add_plane(pixels, heif_channel_interleaved, image.width, image.height, 8);
        int row_bytes = 0;
        std::uint8_t* const plane = heif_image_get_plane(pixels, heif_channel_interleaved, &row_bytes);
        const int width = image.width * image.channels;
        for (int y = 0; y < image.height; ++y)
            std::copy_n(image.pixels.data() + y * width, width, plane + y * row_bytes);
        heif_encoder_set_lossless(encoder, 1);
        heif_encoder_set_parameter_string(encoder, "chroma", "444");
        heif_color_profile_nclx* const colours = heif_nclx_color_profile_alloc();
        colours->matrix_coefficients = heif_matrix_coefficients_RGB_GBR;
        heif_encoding_options* const options = heif_encoding_options_alloc();
        options->output_nclx_profile = colours;
        const auto append = [](heif_context*, const void* bytes, std::size_t size, void* to) {
            static_cast<std::string*>(to)->append(static_cast<const char*>(bytes), size);
            return heif_error{heif_error_Ok, heif_suberror_Unspecified, ""};
        };
        heif_writer writer{1, append};
        const bool done = heif_context_encode_image(context, pixels, encoder, options, nullptr).code == heif_error_Ok;
        if (done) heif_context_write(context, &writer, &file);
        heif_encoding_options_free(options);
        heif_nclx_color_profile_free(colours);
        heif_image_release(pixels);
        heif_encoder_release(encoder);
    }
    heif_context_free(context);
#else
    static_cast<void>(image);
    static_cast<void>(is_avif);
#endif
    return file;
}

std::string encode_webp(const RawImage& image) {
#ifdef CNNTRAIN_WEBP
    std::uint8_t* bytes = nullptr;
    const auto encode = image.channels == 4 ? WebPEncodeLosslessRGBA : WebPEncodeLosslessRGB;
    const std::size_t size =
        encode(image.pixels.data(), image.width, image.height, image.width * image.channels, &bytes);
    std::string file(reinterpret_cast<const char*>(bytes), size);
    WebPFree(bytes);
    return file;
#else
    static_cast<void>(image);
    return "";
#endif
}

#ifdef CNNTRAIN_TIFF
namespace {

struct Written {
    std::string bytes;
    std::size_t position = 0;
};

TIFF* open_in_memory(Written& written) {
    const auto of = [](thandle_t handle) -> Written& { return *static_cast<Written*>(handle); };
    static const auto to = of;
    return TIFFClientOpen(
        "", "wm", &written, [](thandle_t, void*, tmsize_t) -> tmsize_t { return 0; },
        [](thandle_t handle, void* from, tmsize_t count) -> tmsize_t {
            Written& file = to(handle);
            const auto size = static_cast<std::size_t>(count);
            file.bytes.resize(std::max(file.bytes.size(), file.position + size));
            file.bytes.replace(file.position, size, static_cast<const char*>(from), size);
            file.position += size;
            return count;
        },
        [](thandle_t handle, toff_t offset, int from) -> toff_t {
            Written& file = to(handle);
            const std::size_t base = from == SEEK_CUR ? file.position : from == SEEK_END ? file.bytes.size() : 0;
            return file.position = base + offset;
        },
        [](thandle_t) { return 0; }, [](thandle_t handle) -> toff_t { return to(handle).bytes.size(); }, nullptr,
        nullptr);
}

}  // namespace
#endif

std::string encode_tiff(const RawImage& image, int orientation) {
#ifdef CNNTRAIN_TIFF
    Written written;
    TIFF* const tiff = open_in_memory(written);
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, image.width);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, image.height);
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, image.channels);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_RGB);
    TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(tiff, TIFFTAG_COMPRESSION, COMPRESSION_LZW);
    TIFFSetField(tiff, TIFFTAG_ORIENTATION, orientation);
    if (image.channels == 4) {
        const std::uint16_t kind = EXTRASAMPLE_UNASSALPHA;
        TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &kind);
    }
    for (int y = 0; y < image.height; ++y) {
        const auto begin = static_cast<std::size_t>(y * image.width * image.channels);
        std::vector<std::uint8_t> row(
            image.pixels.begin() + static_cast<std::ptrdiff_t>(begin),
            image.pixels.begin() + static_cast<std::ptrdiff_t>(begin) + image.width * image.channels);
        TIFFWriteScanline(tiff, row.data(), static_cast<std::uint32_t>(y), 0);
    }
    TIFFClose(tiff);
    return written.bytes;
#else
    static_cast<void>(image);
    static_cast<void>(orientation);
    return "";
#endif
}

std::string with_orientation(const std::string& jpeg, int orientation) {
    const std::string tiff = std::string("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0", 19) +
                             static_cast<char>(orientation) + std::string("\0\0\0\0\0\0", 6);
    const std::string exif = std::string("Exif\0\0", 6) + tiff;
    const std::size_t length = exif.size() + 2;
    return jpeg.substr(0, 2) + "\xff\xe1" + static_cast<char>(length >> 8) + static_cast<char>(length & 0xff) + exif +
           jpeg.substr(2);
}

void set_tar_checksums(std::string& archive) {
    constexpr std::size_t kBlock = 512;
    constexpr std::size_t kChecksum = 148;
    for (std::size_t at = 0; at + kBlock <= archive.size(); at += kBlock) {
        if (archive.compare(at + 257, 5, "ustar") != 0) continue;
        archive.replace(at + kChecksum, 8, 8, ' ');
        std::uint32_t sum = 0;
        for (std::size_t i = at; i < at + kBlock; ++i)
            sum += static_cast<unsigned char>(archive[i]);
        std::array<char, 8> digits{};
        std::snprintf(digits.data(), digits.size(), "%06o", sum);
        archive.replace(at + kChecksum, digits.size(), digits.data(), digits.size());
    }
}

std::string encode_tar(const std::vector<PackedFile>& files) {
    std::string archive;
    for (const PackedFile& file : files) {
        std::string header(512, '\0');
        header.replace(0, file.name.size(), file.name);
        std::array<char, 12> size{};
        std::snprintf(size.data(), size.size(), "%011o", static_cast<unsigned>(file.content.size()));
        header.replace(124, size.size(), size.data(), size.size());
        header[156] = file.type;
        header.replace(257, 8, std::string("ustar\00000", 8));
        archive += header + file.content;
        archive.resize((archive.size() + 511) / 512 * 512);
    }
    archive.resize(archive.size() + 1024);
    set_tar_checksums(archive);
    return archive;
}

}  // namespace cnntrain::data
