// Data set writers behind `cnntrain dataset`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace cnntrain::dataset_tools {

struct GeneratedCifarSettings {
    std::string folder;  // files go to <folder>/cifar-10-batches-bin
    std::uint64_t seed = 0;
    std::int64_t train_images = 10000;
    std::int64_t test_images = 2000;
    std::int32_t classes = 10;  // 2..10
};

/// A small learnable set in the CIFAR-10 format: a round patch at a random place carries one of five patterns, fine or
/// coarse, which is the class; colours, contrast, tilt and noise are random, so that neither a pixel nor the mean
/// colour gives it away, and mirroring changes no class. Returns the folder written. Error(usage) for impossible
/// counts, Error(storage) as files are written.
std::string write_generated_cifar(const GeneratedCifarSettings& settings);

struct ImagenetWriterSettings {
    std::string train_folder;       // raw images; "" = no training files
    std::string validation_folder;  // likewise
    std::string output_folder;

    // Lists are text files; "" = none. Paths are relative to the split's folder, and the last separator of a line
    // counts.
    std::string train_labels;       // "<path><blank, tab or comma><class>" in each line, instead of class folders
    std::string validation_labels;  // likewise, or one class in each line, in the sorted order of the images
    std::string classes;            // one class in each line, in label order; default: all classes, sorted
    std::string synset_names;       // "<class><blank or tab><its name in words>"; default: the class
    std::string bounding_boxes;  // "<file name>,<xmin>,<ymin>,<xmax>,<ymax>" (0..1), or folder of Pascal VOC XML files

    double validation_fraction = 0;  // of the training images, held out; needs an empty validation_folder
    std::uint64_t seed = 0;          // of the order, and of what is held out
    int train_shards = 1024;
    int validation_shards = 128;
    int threads = 1;
    std::optional<std::int64_t> max_skipped;  // default: 1 % of the images, but at least 10
    bool overwrite = false;                   // remove other files of the same names instead of refusing
};

/// Sets the folders to `<raw>/train` and `<raw>/validation` (or `<raw>/val`); a folder without these is all training
/// images. A validation_folder or validation_labels that is set already stays; otherwise `<raw>/synset_labels.txt` has
/// the labels if it is there and the validation images are not in class folders. Error(data) if there is no such
/// folder.
void find_raw_images(const std::string& raw, ImagenetWriterSettings& settings);

struct ConversionProgress {
    std::int64_t done = 0;   // images
    std::int64_t kept = 0;   // of these, done by an earlier run
    std::int64_t total = 0;  // images
    std::int64_t skipped = 0;
};

/// What the caller wants to hear on the way; each may be empty. All are called by the calling thread.
struct ConversionEvents {
    std::function<void(const std::string& text)> notice;  // one line
    std::function<void(const ConversionProgress&)> progress;
    std::function<void(const std::string& path, const std::string& reason)> skipped;
    std::function<bool()> stop_requested;
};

struct ImagenetWriterResult {
    bool interrupted = false;            // by stop_requested; the counts are then those of the finished files
    std::int64_t images = 0;             // found
    std::int64_t train_images = 0;       // written
    std::int64_t validation_images = 0;  // written
    std::int64_t converted_png = 0;
    std::int64_t converted_cmyk = 0;
    std::int64_t skipped = 0;  // listed in <output_folder>/skipped.txt
    std::int64_t boxes = 0;    // images with at least one
    std::int64_t classes = 0;
    std::int64_t files_written = 0;
    std::int64_t files_kept = 0;  // finished by an earlier run
    std::uint64_t bytes = 0;
};

/// Image files to TFRecords `train-00000-of-01024`..., in an order shuffled with the seed over all classes. The class
/// of an image is what the label file says, or the folder that it stands in (`n01440764/x.JPEG`), or for files directly
/// in the given folder the name up to the first '_' (`n01440764_tench.JPEG`); labels are 1..n in sorted order of all
/// classes. PNG files and CMYK JPEGs become RGB JPEGs; damaged files are skipped. A job that was stopped goes on where
/// it was, and gives the same bytes.
///
/// Error(data) for malformed lists and too many damaged images, Error(usage) for settings that cannot be and for a
/// folder with files of another conversion, Error(storage) as files are written.
ImagenetWriterResult write_imagenet_tfrecords(const ImagenetWriterSettings& settings,
                                              const ConversionEvents& events = {});

}  // namespace cnntrain::dataset_tools
