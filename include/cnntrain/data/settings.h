// The data sets, what the user may ask of them (DataSettings), and what opening them needs besides (InputSettings).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cnntrain/base/tensor.h"
#include "cnntrain/data/image_settings.h"
#include "cnntrain/nn/settings.h"

namespace cnntrain::data {

enum class DatasetId : std::uint8_t { imagenet, cifar10, cifar100, folder };
enum class Split : std::uint8_t { train, validation };
enum class DataKind : std::uint8_t {
    real,       // files in a folder
    generated,  // one random host image and label, repeated
    synthetic,  // random buffers made once; no host input at all
};

/// What the program asks about a data set. How its files are opened stands in src/data/sets/image_sets.h.
struct DatasetInfo {
    DatasetId id;
    std::string_view name;                      // as spelled on the command line
    std::array<std::string_view, 2> path_part;  // the lower-case --data-dir holds one of them; "" is none
    std::string_view folder;                    // searched below --data-dir; "": --data-dir itself is the folder
    std::string_view mark;                      // a file in or below --data-dir, with shell wildcards
    std::int32_t classes;                       // 0: counted in the files
    std::int64_t train_images;                  // of the published set, 0 without one; real files are counted instead
    std::int64_t validation_images;             // likewise
    std::int64_t image_size;                    // default side S
    bool any_image_size;                        // --image-size chooses the side; otherwise S is the only one
    bool in_records;                            // TFRecords, which have a cache and of which a share can be used
    bool normalised_by_channel;  // by constants, on the host or the device; otherwise each image by its own
                                 // mean and deviation, on the host
    bool reports_top_5;          // in validation
    bool decays_norms;           // weight decay includes the gammas and betas of norms
    nn::DatasetKind network_form;
};

/// The first row that has a part of the path is the data set of the path.
inline constexpr std::array<DatasetInfo, 4> kDatasets = {{
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
     .in_records = true,
     .normalised_by_channel = true,
     .reports_top_5 = true,
     .decays_norms = false,
     .network_form = nn::DatasetKind::imagenet},
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
     .in_records = false,
     .normalised_by_channel = false,
     .reports_top_5 = false,
     .decays_norms = true,
     .network_form = nn::DatasetKind::cifar},
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
     .in_records = false,
     .normalised_by_channel = false,
     .reports_top_5 = false,
     .decays_norms = true,
     .network_form = nn::DatasetKind::cifar},
    {.id = DatasetId::folder,
     .name = "folder",
     .path_part = {},
     .folder = "",
     .mark = "train/*/*.[jJ][pP]*[gG]",
     .classes = 0,
     .train_images = 0,
     .validation_images = 0,
     .image_size = 224,
     .any_image_size = true,
     .in_records = false,
     .normalised_by_channel = true,
     .reports_top_5 = false,
     .decays_norms = false,
     .network_form = nn::DatasetKind::imagenet},
}};

constexpr const DatasetInfo& dataset_info(DatasetId id) {
    return *std::ranges::find(kDatasets, id, &DatasetInfo::id);
}

/// With ImageNet's constants, in two modes: `--normalise-input` is (x/255 - m)/s, the default subtracts the mean pixel.
Normalisation imagenet_normalisation(bool normalise_input);

/// How the pixels of one sample are stored in a batch.
struct PixelFormat {
    DType dtype = DType::f32;                // f32, bf16 (nearest even) or u8 (truncated, clamped to 0..255)
    std::optional<Normalisation> normalise;  // applied on the host, in f32, before the conversion
};

struct DataSettings {
    DatasetId dataset = DatasetId::cifar10;
    DataKind kind = DataKind::real;
    std::string data_dir = {};                // where find_data_folder() begins; empty unless real
    std::int64_t image_size = 224;            // S, pixels, height = width
    std::int64_t pipeline_num_parallel = 48;  // for the summary only: --input-threads decides
    double cache_gb = 0;           // records: 1e9 bytes of memory for encoded records, shared by the host's processes
    bool strict = false;           // an image that cannot be decoded is an error
    bool eight_bit_io = false;     // images travel as uint8
    bool hostside_norm = false;    // normalised before they reach the device
    bool normalise_input = false;  // by channel: mean and deviation; false: channel means only
    bool train_with_valid_preprocessing = false;
    std::int64_t percentage_to_use = 100;  // records: used_share() of the training images
    MixingSettings mixing = {};            // of real training images
};

/// The user's settings and what a run adds to them.
struct InputSettings : DataSettings {
    std::string folder = {};  // as returned by find_data_folder(); unused unless real
    DType compute_dtype = DType::f32;
    std::uint64_t seed = 0;
    int threads = 1;  // to index the files when they are opened
};

/// --dataset-percentage-to-use: the first floor(percent * records / 100) training records, in file order. Validation is
/// always whole, so that accuracies of different shares can be compared.
std::int64_t used_share(std::int64_t records, std::int64_t percent);

/// The settings' mixing where it applies: none for generated and synthetic images.
MixingSettings effective_mixing(const DataSettings& settings);

/// What the host stores. Eight-bit IO gives u8 and moves the normalisation by channel to the device. It has no effect
/// on real images that are standardised one by one (CIFAR): that precedes the zero padding of the training crop, so
/// that the device could not do it after the crop.
PixelFormat host_format(const InputSettings& settings);

/// What the graph must apply to the images it is fed, after the cast to the compute type: data sets that are normalised
/// by channel (also when generated or synthetic), and only if the host has not normalised.
std::optional<Normalisation> device_normalisation(const DataSettings& settings);

}  // namespace cnntrain::data
