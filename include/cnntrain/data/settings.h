// The data sets, what the user may ask of them (DataSettings), and what opening them needs besides (InputSettings).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cnntrain/base/tensor.h"

namespace cnntrain::data {

enum class DatasetId : std::uint8_t { imagenet, cifar10, cifar100 };
enum class Split : std::uint8_t { train, validation };
enum class DataKind : std::uint8_t {
    real,       // files in a folder
    generated,  // one random host image and label, repeated
    synthetic,  // random buffers made once; no host input at all
};

struct DatasetInfo {
    DatasetId id;
    std::string_view name;    // as spelled on the command line
    std::string_view folder;  // searched below --data-dir
    std::int32_t classes;
    std::int64_t train_images;       // of the published set; real files are counted instead
    std::int64_t validation_images;  // likewise
    std::int64_t image_size;         // default side S; CIFAR has no other
};

const DatasetInfo& dataset_info(DatasetId id);

/// y = x * scale + shift per channel (R, G, B), with x in 0..255.
struct Normalisation {
    std::array<float, 3> scale;
    std::array<float, 3> shift;
    bool operator==(const Normalisation&) const = default;
};

/// ImageNet's two modes: `--normalise-input` is (x/255 - m)/s, the default subtracts the mean pixel.
Normalisation imagenet_normalisation(bool normalise_input);

/// How the pixels of one sample are stored in a batch.
struct PixelFormat {
    DType dtype = DType::f32;                // f32, bf16 (nearest even) or u8 (truncated, clamped to 0..255)
    std::optional<Normalisation> normalise;  // applied on the host, in f32, before the conversion
};

/// How the samples of a training micro-batch are mixed; made real in mixing.h.
struct MixingSettings {
    double mixup_alpha = 0;           // of Beta(alpha, alpha); 0: no mixup
    double cutmix_lambda = 1;         // share of an image that stays, 0..1; 1: no cutmix
    std::int64_t cutmix_version = 1;  // 1: the share is drawn around lambda; 2: it is lambda
    bool on_host = false;             // images; otherwise the device mixes them

    bool mixup() const { return mixup_alpha > 0; }
    bool cutmix() const { return cutmix_lambda < 1; }
    bool any() const { return mixup() || cutmix(); }
};

struct DataSettings {
    DatasetId dataset = DatasetId::cifar10;
    DataKind kind = DataKind::real;
    std::string data_dir = {};                // where find_data_folder() begins; empty unless real
    std::int64_t image_size = 224;            // S, pixels, height = width; CIFAR has no other than 32
    std::int64_t pipeline_num_parallel = 48;  // for the summary only: --input-threads decides
    double cache_gb = 0;           // ImageNet: 1e9 bytes of memory for encoded records, shared by the host's processes
    bool strict = false;           // an image that cannot be decoded is an error
    bool eight_bit_io = false;     // images travel as uint8
    bool hostside_norm = false;    // normalised before they reach the device
    bool normalise_input = false;  // ImageNet: mean and deviation; false: channel means only
    bool train_with_valid_preprocessing = false;
    std::int64_t percentage_to_use = 100;  // ImageNet: used_share() of the training images
    MixingSettings mixing = {};            // of real training images
};

/// The user's settings and what a run adds to them.
struct InputSettings : DataSettings {
    std::string folder = {};  // as returned by find_data_folder(); unused unless real
    DType compute_dtype = DType::f32;
    std::uint64_t seed = 0;
    int threads = 1;  // to index the files when they are opened
};

/// --dataset-percentage-to-use: the first floor(percent * records / 100) training records, in file order. Validation is always
/// whole, so that accuracies of different shares can be compared.
std::int64_t used_share(std::int64_t records, std::int64_t percent);

/// The settings' mixing where it applies: none for generated and synthetic images.
MixingSettings effective_mixing(const DataSettings& settings);

/// What the host stores. Eight-bit IO gives u8 and moves ImageNet's normalisation to the device. It is without
/// effect on real CIFAR images: their standardisation is per image and precedes the zero padding of the training
/// crop, so the device could not undo an earlier crop; they travel in the compute type, and are right.
PixelFormat host_format(const InputSettings& settings);

/// What the graph must apply to the images it is fed, after the cast to the compute type: ImageNet only (also when
/// generated or synthetic), and only if the host has not normalised.
std::optional<Normalisation> device_normalisation(const DataSettings& settings);

}  // namespace cnntrain::data
