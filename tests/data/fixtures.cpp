#include "fixtures.h"

#include <array>
#include <cmath>
#include <cstring>
// libjpeg's header uses FILE and size_t without including their headers, so it follows the standard ones.
#include <jpeglib.h>
#include <png.h>

#include "cnntrain/base/rng.h"
#include "data/records/example.h"
#include "data/records/tfrecord.h"
#include "data/write/shard_writer.h"

namespace cnntrain::data {

TestImage make_photo(std::int64_t height, std::int64_t width, std::uint64_t seed, std::int64_t channels) {
    Rng rng(seed, RngStream::test);
    TestImage image{height, width, channels, {}};
    const double a = rng.uniform(0.05, 0.4);
    const double b = rng.uniform(0.05, 0.4);
    for (std::int64_t y = 0; y < height; ++y) {
        for (std::int64_t x = 0; x < width; ++x) {
            for (std::int64_t c = 0; c < channels; ++c) {
                const auto phase = static_cast<double>(c);
                const double value = 128 + 60 * std::sin(a * static_cast<double>(x) + phase) +
                                     50 * std::cos(b * static_cast<double>(y) - phase) + rng.uniform(-12, 12);
                image.pixels.push_back(static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0)));
            }
        }
    }
    return image;
}

TestImage make_plain(std::int64_t height, std::int64_t width, std::vector<std::uint8_t> colour) {
    TestImage image{height, width, static_cast<std::int64_t>(colour.size()), {}};
    for (std::int64_t i = 0; i < height * width; ++i)
        image.pixels.insert(image.pixels.end(), colour.begin(), colour.end());
    return image;
}

std::string encode_png(const TestImage& image) {
    png_image info{};
    info.version = PNG_IMAGE_VERSION;
    info.width = static_cast<png_uint_32>(image.width);
    info.height = static_cast<png_uint_32>(image.height);
    info.format = PNG_FORMAT_RGB;
    png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(info);
    std::string file(bytes, '\0');
    EXPECT_NE(png_image_write_to_memory(&info, file.data(), &bytes, 0, image.pixels.data(), 0, nullptr), 0);
    file.resize(bytes);
    return file;
}

std::string encode_jpeg(const TestImage& image, const JpegOptions& options) {
    jpeg_compress_struct info{};
    jpeg_error_mgr errors{};
    info.err = jpeg_std_error(&errors);
    jpeg_create_compress(&info);
    unsigned char* bytes = nullptr;
    unsigned long size = 0;
    jpeg_mem_dest(&info, &bytes, &size);
    info.image_width = static_cast<JDIMENSION>(image.width);
    info.image_height = static_cast<JDIMENSION>(image.height);
    info.input_components = static_cast<int>(image.channels);
    info.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : image.channels == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&info);
    if (image.channels == 4) jpeg_set_colorspace(&info, options.cmyk ? JCS_CMYK : JCS_YCCK);
    jpeg_set_quality(&info, options.quality, TRUE);
    if (image.channels == 3) {
        info.comp_info[0].h_samp_factor = options.horizontal_sampling;
        info.comp_info[0].v_samp_factor = options.vertical_sampling;
    }
    info.restart_in_rows = options.restart_rows;
    if (options.progressive) jpeg_simple_progression(&info);
    info.arith_code = options.arithmetic ? TRUE : FALSE;
    jpeg_start_compress(&info, TRUE);
    std::vector<std::uint8_t> row(static_cast<std::size_t>(image.width * image.channels));
    while (info.next_scanline < info.image_height) {
        const auto start = image.pixels.begin() + static_cast<std::ptrdiff_t>(info.next_scanline * row.size());
        std::copy_n(start, row.size(), row.begin());
        JSAMPROW pointer = row.data();
        jpeg_write_scanlines(&info, &pointer, 1);
    }
    jpeg_finish_compress(&info);
    std::string result(reinterpret_cast<const char*>(bytes), size);
    jpeg_destroy_compress(&info);
    free(bytes);
    return result;
}

TestImage decode_whole(const std::string& jpeg, const DecodeHow& how) {
    jpeg_decompress_struct info{};
    jpeg_error_mgr errors{};
    info.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&info);
    jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(jpeg.data()), jpeg.size());
    jpeg_read_header(&info, TRUE);
    info.out_color_space = JCS_RGB;
    info.scale_num = 1;
    info.scale_denom = static_cast<unsigned>(how.shrink);
    info.dct_method = how.method == DctMethod::fast ? JDCT_IFAST : JDCT_ISLOW;
    jpeg_start_decompress(&info);
    TestImage image{info.output_height, info.output_width, 3, {}};
    image.pixels.resize(static_cast<std::size_t>(image.height * image.width * 3));
    while (info.output_scanline < info.output_height) {
        JSAMPROW row = image.pixels.data() + static_cast<std::size_t>(info.output_scanline) * info.output_width * 3;
        jpeg_read_scanlines(&info, &row, 1);
    }
    jpeg_finish_decompress(&info);
    jpeg_destroy_decompress(&info);
    return image;
}

std::string make_example(const std::string& jpeg, std::int64_t label) {
    return data::serialise_image_example({jpeg, label, "n01440764", "x.JPEG", 0, 0});
}

OwnedExample parse_owned(std::span<const std::byte> record) {
    ImageExample example;
    parse_image_example(record, example);
    return {{reinterpret_cast<const char*>(example.jpeg.data()), example.jpeg.size()}, example.label, example.boxes};
}

void write_records(const std::string& path, const std::vector<std::string>& payloads) {
    MemoryFiles files;
    RecordWriter writer(files, "shard");
    for (const std::string& payload : payloads)
        writer.write(std::as_bytes(std::span(payload)));
    writer.commit();
    write_file(path, read_text(files, "shard"));
}

std::string read_file(const std::string& path) {
    return read_text(posix_files(), path);
}
void write_file(const std::string& path, const std::string& bytes) {
    write_text(posix_files(), path, bytes);
}

std::string cifar10_records(int first, int count) {
    std::string bytes;
    for (int i = first; i < first + count; ++i) {
        bytes.push_back(static_cast<char>(i % 10));
        for (int k = 0; k < 3072; ++k)
            bytes.push_back(static_cast<char>((k * 7 + i * 31 + (k * k) % 53) % 256));
    }
    return bytes;
}

ReadSample read_sample(const Dataset& data, std::int64_t index, SamplePosition position) {
    ReadSample sample;
    sample.image.resize(data.fields().at(0).desc.bytes());
    const std::array<std::span<std::byte>, 2> view = {std::span(sample.image),
                                                      std::as_writable_bytes(std::span(&sample.label, 1))};
    Workspace workspace;
    sample.state = data.read(index, position, view, workspace);
    return sample;
}

std::vector<float> floats_of(std::span<const std::byte> bytes) {
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

}  // namespace cnntrain::data
