// The option rows of image classification, and the kinds of data that they depend on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/data/settings.h"
#include "cnntrain/graph/settings.h"
#include "cnntrain/options/settings.h"
#include "cnntrain/options/task_options.h"

namespace cnntrain::tasks {

// User settings of image classification, in addition to those of all tasks.

struct ImageSettings : options::OwnSettings {
    nn::ModelSettings model;
    data::DataSettings data;
    optim::LearningRateSettings learning_rate;
    bool batch_norm = false;  // the norm that the line asks for; model.norm is the one that it gets
    bool group_norm = false;
    bool generated_data = false;  // data.kind follows from these two
    bool synthetic_data = false;
    std::optional<double> smoothing = {};  // as other programs count it; label_smoothing follows
    bool force_unstable_norm = false;      // IPUs: no stable_norm where it is the network's default
    bool fused_preprocessing = false;
    double label_smoothing = 0.0;                      // share of the target distributed over the others
    bool norm_recomputation = false;                   // of results of norms, in the backward pass
    std::optional<nn::NetworkForm> network_form = {};  // empty: that of the data set
    /// Classes of the weights that an evaluation reads, if another program has made them; 0: those of the data.
    std::int64_t source_classes = 0;
    /// Names of the classes in the checkpoint that an evaluation reads; empty: it has none.
    std::vector<std::string> recorded_classes = {};
};

inline nn::NetworkForm network_form(const ImageSettings& settings) {
    return settings.network_form.value_or(data::dataset_info(settings.data.dataset).network_form);
}

/// The images are not read from files.
inline bool are_made(const ImageSettings& settings) {
    return settings.generated_data || settings.synthetic_data;
}

inline data::DataKind kind_of(const ImageSettings& settings) {
    return settings.synthetic_data   ? data::DataKind::synthetic
           : settings.generated_data ? data::DataKind::generated
                                     : data::DataKind::real;
}

inline const ImageSettings& image_settings(const options::Settings& settings) {
    return settings.task.as<ImageSettings>();
}

using namespace options;  // so that rows read as in the room options

/// Sources of a run's images, as far as options depend on them.
enum class Images : std::uint8_t {
    imagenet_files,
    cifar_files,
    class_folders,
    imagenet_made,
    cifar_made
};  // made: generated or synthetic
inline constexpr std::uint32_t kImagenetFiles = bit(Images::imagenet_files);
inline constexpr std::uint32_t kCifarFiles = bit(Images::cifar_files);
inline constexpr std::uint32_t kClassFolders = bit(Images::class_folders);
inline constexpr std::uint32_t kPhotoFiles = kImagenetFiles | kClassFolders;
inline constexpr std::uint32_t kFiles = kPhotoFiles | kCifarFiles;
inline constexpr std::uint32_t kPhotos = kPhotoFiles | bit(Images::imagenet_made);

// The task's own groups, in order; one file or part of a file each.
std::vector<Option> model_options();
/// Options for conventions of the program that trained the weights, as far as shapes do not show them; in the group of
/// this program's own options.
std::vector<Option> convention_options();
std::vector<Option> resnext_options();
std::vector<Option> efficientnet_options();
std::vector<Option> dataset_options();
/// Options for photos, in the group of this program's own options.
std::vector<Option> photo_options();
std::vector<Option> schedule_options();
/// Preparation of images, in the group of this program's own options.
std::vector<Option> preparation_options();

/// All options, in the order of the help text.
const OptionSet& image_options();

}  // namespace cnntrain::tasks
