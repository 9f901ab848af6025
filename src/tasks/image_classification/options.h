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
inline constexpr std::uint32_t kPhotoFiles = kImagenetFiles | bit(Images::class_folders);
inline constexpr std::uint32_t kFiles = kPhotoFiles | kCifarFiles;
inline constexpr std::uint32_t kPhotos = kPhotoFiles | bit(Images::imagenet_made);

// Values of --network-form.
inline constexpr const char* kAutoForm = "auto";
inline constexpr const char* kLargeForm = "large-images";
inline constexpr const char* kSmallForm = "small-images";

// The task's own groups, in order; one file or part of a file each.
std::vector<Option> model_options();
std::vector<Option> resnext_options();
std::vector<Option> efficientnet_options();
std::vector<Option> dataset_options();
std::vector<Option> schedule_options();

/// All options, in the order of the help text.
const OptionSet& image_options();

}  // namespace cnntrain::tasks
