// The option rows of image classification, and the kinds of data that they depend on.
#pragma once

#include <vector>

#include "cnntrain/config/shared_options.h"
#include "tasks/image_classification/settings.h"

namespace cnntrain::tasks {

using namespace config;  // so that rows read as in config

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
/// What the source of weights decides beyond their shapes; in the group of this program's own options.
std::vector<Option> convention_options();
std::vector<Option> resnext_options();
std::vector<Option> efficientnet_options();
std::vector<Option> dataset_options();
/// Of this program alone.
std::vector<Option> photo_options();
std::vector<Option> schedule_options();
/// Preparation of images, in the group of this program's own options.
std::vector<Option> preparation_options();

/// All options, in the order of the help text.
const OptionSet& image_options();

}  // namespace cnntrain::tasks
