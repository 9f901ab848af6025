// Data set writers behind `cnntrain dataset`.
#pragma once

#include <cstdint>
#include <string>

namespace cnntrain::data {

struct GeneratedCifarSettings {
    std::string folder;  // files go to <folder>/cifar-10-batches-bin
    std::uint64_t seed = 0;
    std::int64_t train_images = 10000;
    std::int64_t test_images = 2000;
    std::int32_t classes = 10;  // 2..10
};

/// A small learnable set in the CIFAR-10 format: a round patch at a random place carries one of five patterns, fine or
/// coarse, which is the class; colours, contrast, tilt and noise are random, so that neither a pixel nor the mean colour
/// gives it away, and mirroring changes no class. Returns the folder written. Error(usage) for impossible counts,
/// Error(storage) as files are written.
std::string write_generated_cifar(const GeneratedCifarSettings& settings);

struct ImagenetWriterSettings {
    std::string train_folder;       // raw images; "" = no training shards
    std::string validation_folder;  // likewise; may be the same
    std::string output_folder;
    std::uint64_t seed = 0;
    int train_shards = 1024;
    int validation_shards = 128;
};

struct ImagenetWriterResult {
    std::int64_t train_images = 0;
    std::int64_t validation_images = 0;
    std::int64_t classes = 0;
};

/// JPEG files to TFRecords `train-00000-of-01024`..., in an order shuffled with the seed. The class is the folder that
/// a file stands in (`n01440764/x.JPEG`) or, for files directly in the given folder, the name up to the first '_'
/// (`n01440764_tench.JPEG`); labels are 1..n in sorted order of all classes. Each shard is finished or absent.
/// Error(data) for a file that is not a JPEG.
ImagenetWriterResult write_imagenet_tfrecords(const ImagenetWriterSettings& settings);

}  // namespace cnntrain::data
