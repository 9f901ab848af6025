// Options of preparing images, and of the losses and answers that need more than one look at the data.
#include "tasks/image_classification/options.h"

namespace cnntrain::tasks {
namespace {

std::vector<Option> evaluation_rows() {
    return {
        {.flag = "--crop-fraction",
         .help = "F of evaluation: the shorter side of a photo becomes floor(S / F), then the centre S x S is cut out.",
         .aliases = {{"--crop-pct"}},
         .range = between(0.01, 1),
         .acts_on = kPhotoFiles,
         .needs = {{"resize_mode", {data::kResizeModeNames[0]}}},
         .numerics = true,
         .bind =
             to<&ImageSettings::data, &data::DataSettings::preparation, &data::PreparationSettings::crop_fraction>()},
        {.flag = "--resize-mode",
         .help = "Evaluation: crop the centre, squash the whole photo, or pad it with the mean pixel.",
         .acts_on = kPhotoFiles,
         .numerics = true,
         .bind = to<&ImageSettings::data, &data::DataSettings::preparation, &data::PreparationSettings::resize_mode>()},
        {.flag = "--interpolation",
         .help = "How photos are resized: as TensorFlow 1 does, or with antialiasing as Pillow and torchvision do.",
         .acts_on = kPhotoFiles,
         .numerics = true,
         .bind =
             to<&ImageSettings::data, &data::DataSettings::preparation, &data::PreparationSettings::interpolation>()},
        {.flag = "--normalise-mean",
         .left_open = true,
         .help = "Photos: means of R, G and B in 0..1, subtracted from x / 255; needs --normalise-std. Without them, "
                 "ImageNet's, as --normalise-input says.",
         .aliases = {{"--normalize-mean"}},
         .range = between(0, 1),
         .acts_on = kPhotos,
         .numerics = true,
         .bind =
             to<&ImageSettings::data, &data::DataSettings::preparation, &data::PreparationSettings::normalise_mean>()},
        {.flag = "--normalise-std",
         .left_open = true,
         .help = "Photos: deviations of R, G and B, by which the difference from the mean is divided.",
         .aliases = {{"--normalize-std"}},
         .range = between(1e-6, 1e6),
         .acts_on = kPhotos,
         .numerics = true,
         .bind =
             to<&ImageSettings::data, &data::DataSettings::preparation, &data::PreparationSettings::normalise_std>()},
        {.flag = "--test-time-flip",
         .help = "Validation and inference: use the mean logits of each image and its mirror image.",
         .numerics = true,
         .bind = to<&ImageSettings::data, &data::DataSettings::test_time_flip>()},
    };
}

std::vector<Option> training_rows() {
    return {
        {.flag = "--crop-area",
         .left_open = true,
         .help = "MIN,MAX: share of a training photo's area that its random crop covers; without it, 0.05,1.",
         .range = between(0, 1),
         .acts_in = kT,
         .acts_on = kPhotoFiles,
         .numerics = true,
         .bind = to<&ImageSettings::data, &data::DataSettings::augmentation, &data::AugmentationSettings::crop_area>()},
        {.flag = "--rand-augment",
         .left_open = true,
         .help = "N,M: apply N random operations of RandAugment with magnitude M (0 to 30) to each training image.",
         .range = between(0, 100),
         .acts_in = kT,
         .acts_on = kFiles,
         .numerics = true,
         .bind =
             to<&ImageSettings::data, &data::DataSettings::augmentation, &data::AugmentationSettings::rand_augment>()},
        {.flag = "--colour-jitter",
         .left_open = true,
         .help =
             "B,C,S,H: change brightness, contrast, saturation (by factors from 1 - x to 1 + x) and hue (by -H to H "
             "turns) of training images, in random order.",
         .aliases = {{"--color-jitter"}},
         .range = between(0, 100),
         .acts_in = kT,
         .acts_on = kFiles,
         .numerics = true,
         .bind =
             to<&ImageSettings::data, &data::DataSettings::augmentation, &data::AugmentationSettings::colour_jitter>()},
        {.flag = "--random-erasing",
         .help = "Probability with which a rectangle of a training image is replaced by the mean pixel.",
         .range = between(0, 1),
         .acts_in = kT,
         .acts_on = kFiles,
         .numerics = true,
         .bind = to<&ImageSettings::data, &data::DataSettings::augmentation,
                    &data::AugmentationSettings::random_erasing>()},
        {.flag = "--class-weights",
         .help = "Weights of the classes in the training loss: balanced (by the number of training images), numbers "
                 "w0,w1,..., or a file with a weight or CLASS,WEIGHT a line.",
         .main_in = kT,
         .acts_in = kT,
         .acts_on = kFiles,
         .numerics = true,
         .bind = to<&ImageSettings::class_weights>()},
    };
}

}  // namespace

std::vector<Option> preparation_options() {
    return concatenated({evaluation_rows(), training_rows()});
}

}  // namespace cnntrain::tasks
