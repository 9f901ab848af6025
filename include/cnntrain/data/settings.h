// The data sets, the user's settings (DataSettings), and all settings needed to open data (InputSettings).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/tensor.h"
#include "cnntrain/base/text.h"
#include "cnntrain/graph/settings.h"

namespace cnntrain::data {

// Conversion of image files to a network's input: size, interpolation, normalisation, and augmentation of training
// images.

/// Method by which evaluation makes an S x S image of a photo of any aspect ratio.
enum class ResizeMode : std::uint8_t {
    crop,    // the shorter side becomes floor(S / crop fraction), then the centre is cut out
    squash,  // the whole photo; its aspect ratio is not kept
    pad,     // the whole photo; its longer side becomes S, the mean pixel fills the rest
};
constexpr auto spellings(ResizeMode) {
    return std::to_array<std::string_view>({"crop", "squash", "pad"});
}

enum class Interpolation : std::uint8_t {
    tf1_bilinear,  // TensorFlow 1's: two neighbours, no antialiasing, source = destination * in / out
    bilinear,      // antialiased, as Pillow's and torchvision's
    bicubic,       // antialiased, as Pillow's and torchvision's (a = -1/2)
};
constexpr auto spellings(Interpolation) {
    return std::to_array<std::string_view>({"tf1-bilinear", "bilinear", "bicubic"});
}

/// Training images take the interpolation and the normalisation; evaluation takes all.
struct PreparationSettings {
    double crop_fraction = 0.875;  // side of the centre crop / shorter side; 0 < F <= 1
    ResizeMode resize_mode = ResizeMode::crop;
    Interpolation interpolation = Interpolation::tf1_bilinear;
    std::vector<double> normalise_mean = {};  // of R, G, B in 0..1; empty, as normalise_std then is: ImageNet's
    std::vector<double> normalise_std = {};
};

/// Changes of training images beyond crop and mirroring (augment.h). All are off by default.
struct AugmentationSettings {
    std::vector<double> rand_augment = {};   // number of operations, magnitude; empty: none
    std::vector<double> colour_jitter = {};  // brightness, contrast, saturation, hue; empty: none
    double random_erasing = 0;               // probability
    std::vector<double> crop_area = {};      // least and largest share of the photo; empty: 0.05 and 1
};

enum class DatasetId : std::uint8_t { imagenet, cifar10, cifar100, folder };
enum class Split : std::uint8_t { train, validation };
enum class DataKind : std::uint8_t {
    real,       // files in a folder
    generated,  // one random image and label on the host, repeated
    synthetic,  // random buffers made once; no host input
};

/// Form in which a data set's files hold images. Options depend on it.
enum class ImageFormat : std::uint8_t {
    records,        // JPEG in TFRecords; enables the record cache and use of a share
    class_folders,  // photos
    raw_pixels,     // as CIFAR's
};

/// Properties of a data set. src/data/sets/resolve.h has the functions that open its files.
struct DatasetInfo {
    DatasetId id;
    std::string_view name;                      // as on the command line
    std::array<std::string_view, 2> path_part;  // the lower-case --data-dir contains one of them; "" is unused
    std::string_view folder;                    // searched below --data-dir; "": --data-dir itself
    std::string_view mark;                      // a file in --data-dir, with shell wildcards; "": looks_like_photos()
    std::int32_t classes;                       // 0: counted in the files
    std::int64_t train_images;                  // of the published set, 0 if none; real files are counted instead
    std::int64_t validation_images;             // as train_images
    std::int64_t image_size;                    // default side S
    bool any_image_size;                        // --image-size sets the side; otherwise S is the only size
    ImageFormat format;
    bool normalised_by_channel;  // by constants; otherwise by each image's mean and deviation, on the host
    bool reports_top_5;          // in validation
    bool decays_norms;           // weight decay includes gamma and beta of norms
    nn::NetworkForm network_form;
    double validate_every = 0;  // epochs between validations during training by default; 0: after training only
};

/// The data set of a path is the first row with a matching part.
inline constexpr auto kDatasets = std::to_array<DatasetInfo>({
    {.id = DatasetId::imagenet,
     .name = "imagenet",
     .path_part = {"imagenet"},
     .folder = "imagenet-data",
     .mark = "train-0*",
     .classes = 1000,
     .train_images = 1281167,
     .validation_images = 50000,
     .image_size = 224,
     .any_image_size = true,
     .format = ImageFormat::records,
     .normalised_by_channel = true,
     .reports_top_5 = true,
     .decays_norms = false,
     .network_form = nn::NetworkForm::large_images},
    {.id = DatasetId::cifar100,
     .name = "cifar-100",
     .path_part = {"cifar100", "cifar-100"},
     .folder = "cifar-100-binary",
     .mark = "train.bin",
     .classes = 100,
     .train_images = 50000,
     .validation_images = 10000,
     .image_size = 32,
     .any_image_size = false,
     .format = ImageFormat::raw_pixels,
     .normalised_by_channel = false,
     .reports_top_5 = false,
     .decays_norms = true,
     .network_form = nn::NetworkForm::small_images},
    {.id = DatasetId::cifar10,
     .name = "cifar-10",
     .path_part = {"cifar"},
     .folder = "cifar-10-batches-bin",
     .mark = "data_batch_1.bin",
     .classes = 10,
     .train_images = 50000,
     .validation_images = 10000,
     .image_size = 32,
     .any_image_size = false,
     .format = ImageFormat::raw_pixels,
     .normalised_by_channel = false,
     .reports_top_5 = false,
     .decays_norms = true,
     .network_form = nn::NetworkForm::small_images},
    {.id = DatasetId::folder,
     .name = "folder",
     .path_part = {},
     .folder = "",
     .mark = "",
     .classes = 0,
     .train_images = 0,
     .validation_images = 0,
     .image_size = 224,
     .any_image_size = true,
     .format = ImageFormat::class_folders,
     .normalised_by_channel = true,
     .reports_top_5 = false,
     .decays_norms = false,
     .network_form = nn::NetworkForm::large_images,
     .validate_every = 1},
});
static_assert(kDatasets.size() == enumerator_count<DatasetId>());

constexpr const DatasetInfo& dataset_info(DatasetId id) {
    return *std::ranges::find(kDatasets, id, &DatasetInfo::id);
}
constexpr auto spellings(DatasetId) {
    std::array<std::string_view, kDatasets.size()> names;
    for (const DatasetInfo& info : kDatasets)
        names[static_cast<std::size_t>(info.id)] = info.name;
    return names;
}

/// (x/255 - mean) / deviation per channel.
nn::Normalisation normalisation(std::span<const double> mean, std::span<const double> deviation);

/// ImageNet's constants in two modes: with `--normalise-input`, normalisation(); by default, only the mean pixel is
/// subtracted.
nn::Normalisation imagenet_normalisation(bool normalise_input);

/// Pixel format of samples in a batch.
struct PixelFormat {
    DType dtype = DType::f32;                    // f32, bf16 (nearest even) or u8 (truncated, clamped to 0..255)
    std::optional<nn::Normalisation> normalise;  // applied on the host, in f32, before the conversion
};

class FoundPhotos;

/// Labels of photos in a table.
struct TableLabels {
    nn::LabelKind kind = nn::LabelKind::single;  // or several
    std::string separator = "|";                 // one character, between the labels in a cell

    bool several() const { return kind == nn::LabelKind::several; }
};

struct DataSettings {
    DatasetId dataset = DatasetId::cifar10;
    DataKind kind = DataKind::real;
    std::string data_dir = {};                // start folder for find_data_folder(); empty unless real
    std::vector<std::string> photos = {};     // files, folders and patterns to classify, instead of those in data_dir
    std::int64_t image_size = 224;            // S: height and width in pixels
    std::int64_t pipeline_num_parallel = 48;  // printed in the summary only; --input-threads decides
    bool strict = false;                      // throw an error if an image cannot be decoded
    bool eight_bit_io = false;                // send images to the device as uint8
    bool hostside_norm = false;               // normalise on the host
    bool normalise_input = false;             // per channel by mean and deviation; false: by mean only
    bool train_with_valid_preprocessing = false;
    std::int64_t percentage_to_use = 100;  // for records: used_share() of the training images
    nn::MixingSettings mixing = {};        // for real training images
    PreparationSettings preparation = {};
    AugmentationSettings augmentation = {};               // of real training images
    bool test_time_flip = false;                          // evaluation: each image is followed by its mirror image
    bool balanced = false;                                // training draws each class equally often
    TableLabels labels = {};                              // of photos
    double validation_fraction = 0.2;                     // of photos that no folder or table assigns to a split
    std::int64_t split_seed = 0;                          // of their choice
    std::optional<std::int64_t> classes = {};             // the number that the user expects
    std::vector<std::string> known_classes = {};          // of a trained network, by label; empty: those of the data
    std::shared_ptr<FoundPhotos> found_photos = nullptr;  // shared by the parts of a run; null: each looks again
};

/// The user's settings and those that a run adds.
struct InputSettings : DataSettings {
    std::string folder = {};  // result of find_data_folder(); unused unless real
    DType compute_dtype = DType::f32;
    std::uint64_t seed = 0;
    int threads = 1;  // for work on all files before they are read: indexing, counting the samples of classes
    /// Training images are read in order, each once per sweep, and one that cannot be decoded is left out.
    bool in_order = false;
};

/// --dataset-percentage-to-use: the first floor(percent * records / 100) training records, in file order. Validation
/// always uses all records, so that accuracies for different shares are comparable.
std::int64_t used_share(std::int64_t records, std::int64_t percent);

/// The normalisation by channel of these settings: the given constants, or ImageNet's.
nn::Normalisation channel_normalisation(const DataSettings& settings);

/// The pixel that channel_normalisation() maps to 0, in levels 0..255.
std::array<float, 3> mean_pixel(const DataSettings& settings);

/// The effective mixing: none for generated and synthetic images.
nn::MixingSettings effective_mixing(const DataSettings& settings);

/// The format stored by the host. Eight-bit IO gives u8 and moves per-channel normalisation to the device. It has no
/// effect on real images that are standardised one by one (CIFAR), because standardisation must precede the zero
/// padding of the training crop, and the device only sees the images after the crop.
PixelFormat host_format(const InputSettings& settings);

/// The normalisation that the graph applies to its input images, after the cast to the compute type. Only for data sets
/// normalised by channel (also if generated or synthetic), and only if the host has not normalised.
std::optional<nn::Normalisation> device_normalisation(const DataSettings& settings);

// The preparation of photos for evaluation, for exported files that prepare photos themselves.

/// Evaluation: length of the shorter side for images of side S, floor(S / crop fraction). A rounded fraction, such as
/// 224 / 232, gives the whole number that it stands for.
constexpr std::int64_t evaluation_shorter_side(std::int64_t image_size, double crop_fraction = 0.875) {
    constexpr double kRounding = 1e-6;
    return static_cast<std::int64_t>(static_cast<double>(image_size) / crop_fraction + kRounding);
}

/// Writes the image [S,S,3] that evaluation makes of a photo's pixels, u8 [H,W,3], in the format of a batch. Images
/// that are standardised one by one must have this size already.
void prepare_photo(const HostTensor& pixels, const DataSettings& settings, const PixelFormat& format,
                   std::span<std::byte> image);

// Small pictures of samples, for users to look at.

/// Numbers of the parts of an image, to be drawn over it.
struct Heat {
    std::int64_t height = 0;  // number of parts
    std::int64_t width = 0;
    std::vector<float> values = {};  // the least has no colour, the greatest has the strongest
};

/// A JPEG of an image as a network reads it: `image` describes its pixels, [H,W,3] of any type. The least value becomes
/// black and the greatest white, as pixels are standardised. The longer side is at most `most_side`: pixels are
/// averaged, never made up. With `heat`, the picture is grey, and orange where that is high.
std::string thumbnail(const TensorDesc& image, std::span<const std::byte> pixels, std::int64_t most_side,
                      const Heat* heat = nullptr);

}  // namespace cnntrain::data
