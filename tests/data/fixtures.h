// Small files for the tests of data: JPEGs, records.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/dataset.h"
#include "data/images/jpeg.h"
#include "data/records/example.h"

namespace cnntrain::data {

struct TestImage {
    std::int64_t height = 0;
    std::int64_t width = 0;
    std::int64_t channels = 3;
    std::vector<std::uint8_t> pixels;  // HWC

    std::uint8_t at(std::int64_t y, std::int64_t x, std::int64_t c) const {
        return pixels[static_cast<std::size_t>((y * width + x) * channels + c)];
    }
};

/// Smooth shapes with some noise, as photographs are.
TestImage make_photo(std::int64_t height, std::int64_t width, std::uint64_t seed = 1, std::int64_t channels = 3);
TestImage make_plain(std::int64_t height, std::int64_t width, std::vector<std::uint8_t> colour);

struct JpegOptions {
    int quality = 90;
    int horizontal_sampling = 2;  // 2 x 2 is the usual 4:2:0
    int vertical_sampling = 2;
    bool progressive = false;
    bool arithmetic = false;
    bool cmyk = false;     // for 4 channels: CMYK instead of YCCK; both with an Adobe marker
    int restart_rows = 0;  // rows of blocks between restart markers; 0: none
};

std::string encode_jpeg(const TestImage& image, const JpegOptions& options = {});
/// Encodes an RGB image.
std::string encode_png(const TestImage& image);
/// The whole image, straight from libjpeg.
TestImage decode_whole(const std::string& jpeg, const DecodeHow& how);

std::string make_example(const std::string& jpeg, std::int64_t label);
/// A parsed record that owns its image.
struct OwnedExample {
    std::string jpeg;
    std::int64_t label = -1;
    std::vector<Box> boxes;
};
OwnedExample parse_owned(std::span<const std::byte> record);
void write_records(const std::string& path, const std::vector<std::string>& payloads);

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& bytes);
/// `count` records of a CIFAR-10 file: label i % 10, pixels from a simple formula of i.
std::string cifar10_records(int first, int count);

/// Images and labels of a batch: they are its first two fields.
inline std::span<const std::byte> images_in(const Batch& batch) {
    return batch.fields[0];
}
inline std::span<const std::int32_t> labels_in(const Batch& batch) {
    return batch.as<std::int32_t>(1);
}

struct ReadSample {
    std::vector<std::byte> image;
    std::int32_t label = 0;
    SampleState state = SampleState::counted;
};
/// Reads a sample of a data set with image_fields().
ReadSample read_sample(const Dataset& data, std::int64_t index, SamplePosition position = {});
/// Returns the f32 values in the bytes.
std::vector<float> floats_of(std::span<const std::byte> bytes);

}  // namespace cnntrain::data
