// Options of the Dataset group.
#include "tasks/image_classification/options.h"

namespace cnntrain::tasks {

std::vector<Option> dataset_options() {
    return {
        {.flag = "--dataset",
         .help = "Data set; without it, inferred from the data folder.",
         .main_in = kTVE,
         .numerics = true,
         .bind = left_open(to<&ImageSettings::data, &data::DataSettings::dataset>())},
        changed(shared("--data-dir"),
                [](Option& row) {
                    row.help =
                        "Folder with TFRecords, CIFAR binaries or photos (train/CLASS/*, validation/CLASS/* or "
                        "CLASS/*), or a table of photos and classes (.csv); inference also takes any folder of photos, "
                        "or one photo. Without it, the environment's DATA_DIR.";
                    row.acts.on = kFiles;
                    row.bind = left_open(to<&ImageSettings::data, &data::DataSettings::data_dir>());
                }),
        {.flag = "--photos",
         .help = "Photos to classify, instead of --data-dir: files, folders and patterns, also as words after the run: "
                 "cnntrain inference RUN *.jpg.",
         .commands = kE,
         .main_in = kE,
         .recorded = Recorded::ignored,
         .bind = left_open(to<&ImageSettings::data, &data::DataSettings::photos>())},
        {.flag = "--pipeline-num-parallel",
         .help = "Images processed in parallel.",
         .range = between(0, kMostIterations),
         .acts = {.never = "--input-threads says how many threads prepare images"},
         .bind = to<&ImageSettings::data, &data::DataSettings::pipeline_num_parallel>()},
        changed(shared("--generated-data"), [](Option& row) { row.bind = to<&ImageSettings::generated_data>(); }),
        changed(shared("--synthetic-data"), [](Option& row) { row.bind = to<&ImageSettings::synthetic_data>(); }),
        {.flag = "--no-dataset-cache",
         .help = "Do not keep the data set in memory.",
         .acts = {.never = "the system keeps files that were read in free memory"}},
        shared("--dataset-cache-gb"),
        {.flag = "--strict-data",
         .fallback = false,
         .help = "Stop at the first image that cannot be decoded, instead of using the next one (or, in validation, "
                 "leaving it out).",
         .acts = {.on = kPhotoFiles},
         .numerics = true,
         .bind = to<&ImageSettings::data, &data::DataSettings::strict>()},
        {.flag = "--normalise-input",
         .help = "ImageNet and photos: subtract means and divide by deviations; without it, subtract means.",
         .acts = {.on = kPhotos},
         .numerics = true,
         .bind = to<&ImageSettings::data, &data::DataSettings::normalise_input>()},
        {.flag = "--image-size",
         .help = "Height and width; not for CIFAR. Without it, the model's.",
         .unit = "pixels",
         .range = between(1, 16384),
         .main_in = kT,
         .numerics = true,
         .bind = left_open(to<&ImageSettings::data, &data::DataSettings::image_size>())},
        {.flag = "--train-with-valid-preprocessing",
         .help = "Prepare training images like validation images.",
         .acts = {.in = kT, .on = kFiles},
         .numerics = true,
         .bind = to<&ImageSettings::data, &data::DataSettings::train_with_valid_preprocessing>()},
        {.flag = "--hostside-norm",
         .help = "Normalise images on the host instead of the device.",
         .acts = {.on = kPhotos},
         .numerics = true,
         .bind = to<&ImageSettings::data, &data::DataSettings::hostside_norm>()},
        {.flag = "--standard-imagenet",
         .help = "Read ImageNet's files as one stream instead of several.",
         .acts = {.never = "the files are always one stream, whose order depends on the seed alone"}},
        {.flag = "--mixup-alpha",
         .help = "Parameter of mixup's beta distribution; 0: no mixup.",
         .range = between(0, 1e6),
         .main_in = kT,
         .acts = {.in = kT, .on = kFiles},
         .numerics = true,
         .bind = to<&ImageSettings::data, &data::DataSettings::mixing, &nn::MixingSettings::mixup_alpha>()},
        {.flag = "--cutmix-lambda",
         .help = "Share of an image that cutmix keeps; 1: no cutmix.",
         .main_in = kT,
         .acts = {.in = kT, .on = kFiles},
         .numerics = true,
         .bind = to<&ImageSettings::data, &data::DataSettings::mixing, &nn::MixingSettings::cutmix_lambda>()},
        {.flag = "--cutmix-version",
         .help = "Cutmix variant, 1 or 2.",
         .range = between(1, 2),
         .acts = {.in = kT, .on = kFiles, .needs = {{"cutmix_lambda"}}},
         .numerics = true,
         .bind = to<&ImageSettings::data, &data::DataSettings::mixing, &nn::MixingSettings::cutmix_version>()},
        {.flag = "--hostside-image-mixing",
         .help = "Mix images on the host instead of the device.",
         .acts = {.in = kT, .on = kFiles, .needs = {{"mixup_alpha"}, {"cutmix_lambda"}}},
         .numerics = true,
         .bind = to<&ImageSettings::data, &data::DataSettings::mixing, &nn::MixingSettings::on_host>()},
        {.flag = "--eight-bit-io",
         .help = "Send images to the device as 8-bit integers.",
         .acts = {.on = ~kCifarFiles, .on_reason = "CIFAR's images are standardised one by one on the host"},
         .numerics = true,
         .bind = to<&ImageSettings::data, &data::DataSettings::eight_bit_io>()},
        {.flag = "--dataset-percentage-to-use",
         .help =
             "Share of ImageNet's training records to use, the first ones in file order; validation always uses all.",
         .unit = "%",
         .range = between(1, 100),
         .acts = {.in = kT, .on = kImagenetFiles},
         .numerics = true,
         .bind = to<&ImageSettings::data, &data::DataSettings::percentage_to_use>()},
        {.flag = "--fused-preprocessing",
         .help = "Normalise ImageNet images in one fused operation, on the device.",
         .acts = {.never = "images are always normalised so without --hostside-norm"},
         .bind = to<&ImageSettings::fused_preprocessing>()},
    };
}

std::vector<Option> photo_options() {
    return {
        {.flag = "--num-classes",
         .help = "Number of classes: must agree with the data, where they name their classes; otherwise the outputs of "
                 "the network. Without it, as many as the data have.",
         .range = between(2, 1 << 24),
         .numerics = true,
         .bind = to<&ImageSettings::data, &data::DataSettings::classes>()},
        changed(shared("--validation-fraction"),
                [](Option& row) {
                    row.fallback = 0.2;
                    row.help =
                        "Share of each class's photos held out for validation, where no folder or table says which.";
                    row.acts.on = kClassFolders;
                    row.acts.on_reason = "it is for photos without validation folders";
                    row.bind = to<&ImageSettings::data, &data::DataSettings::validation_fraction>();
                }),
        {.flag = "--split-seed",
         .help = "Seed of the choice of these photos; --seed does not change it.",
         .range = between(0, kMostIterations),
         .acts = {.on = kClassFolders, .on_reason = "it is for photos without validation folders"},
         .numerics = true,
         .bind = to<&ImageSettings::data, &data::DataSettings::split_seed>()},
    };
}

// Options of preparing images, and of the losses and answers that need more than one look at the data.

namespace {

std::vector<Option> evaluation_rows() {
    return {
        {.flag = "--crop-fraction",
         .help = "F of evaluation: the shorter side of a photo becomes floor(S / F), then the centre S x S is cut out.",
         .aliases = {{"--crop-pct"}},
         .range = between(0.01, 1),
         .acts = {.on = kPhotoFiles, .needs = {{"resize_mode", {spelling(data::ResizeMode::crop)}}}},
         .numerics = true,
         .bind =
             to<&ImageSettings::data, &data::DataSettings::preparation, &data::PreparationSettings::crop_fraction>()},
        {.flag = "--resize-mode",
         .help = "Evaluation: crop the centre, squash the whole photo, or pad it with the mean pixel.",
         .acts = {.on = kPhotoFiles},
         .numerics = true,
         .bind = to<&ImageSettings::data, &data::DataSettings::preparation, &data::PreparationSettings::resize_mode>()},
        {.flag = "--interpolation",
         .help = "How photos are resized: as TensorFlow 1 does, or with antialiasing as Pillow and torchvision do.",
         .acts = {.on = kPhotoFiles},
         .numerics = true,
         .bind =
             to<&ImageSettings::data, &data::DataSettings::preparation, &data::PreparationSettings::interpolation>()},
        {.flag = "--normalise-mean",
         .help = "Photos: means of R, G and B in 0..1, subtracted from x / 255; needs --normalise-std. Without them, "
                 "ImageNet's, as --normalise-input says.",
         .aliases = {{"--normalize-mean"}},
         .range = between(0, 1),
         .acts = {.on = kPhotos},
         .numerics = true,
         .bind = left_open(
             to<&ImageSettings::data, &data::DataSettings::preparation, &data::PreparationSettings::normalise_mean>())},
        {.flag = "--normalise-std",
         .help = "Photos: deviations of R, G and B, by which the difference from the mean is divided.",
         .aliases = {{"--normalize-std"}},
         .range = between(1e-6, 1e6),
         .acts = {.on = kPhotos},
         .numerics = true,
         .bind = left_open(
             to<&ImageSettings::data, &data::DataSettings::preparation, &data::PreparationSettings::normalise_std>())},
        {.flag = "--test-time-flip",
         .help = "Validation and inference: use the mean logits of each image and its mirror image.",
         .numerics = true,
         .bind = to<&ImageSettings::data, &data::DataSettings::test_time_flip>()},
    };
}

std::vector<Option> training_rows() {
    return {
        {.flag = "--crop-area",
         .help = "MIN,MAX: share of a training photo's area that its random crop covers; without it, 0.05,1.",
         .range = between(0, 1),
         .acts = {.in = kT, .on = kPhotoFiles},
         .numerics = true,
         .bind = left_open(
             to<&ImageSettings::data, &data::DataSettings::augmentation, &data::AugmentationSettings::crop_area>())},
        {.flag = "--rand-augment",
         .help = "N,M: apply N random operations of RandAugment with magnitude M (0 to 30) to each training image.",
         .range = between(0, 100),
         .acts = {.in = kT, .on = kFiles},
         .numerics = true,
         .bind = left_open(
             to<&ImageSettings::data, &data::DataSettings::augmentation, &data::AugmentationSettings::rand_augment>())},
        {.flag = "--colour-jitter",
         .help = "B,C,S,H: change brightness, contrast, saturation (by factors from 1 - x to 1 + x) and hue (by -H to "
                 "H turns) of training images, in random order.",
         .aliases = {{"--color-jitter"}},
         .range = between(0, 100),
         .acts = {.in = kT, .on = kFiles},
         .numerics = true,
         .bind = left_open(to<&ImageSettings::data, &data::DataSettings::augmentation,
                              &data::AugmentationSettings::colour_jitter>())},
        {.flag = "--random-erasing",
         .help = "Probability with which a rectangle of a training image is replaced by the mean pixel.",
         .range = between(0, 1),
         .acts = {.in = kT, .on = kFiles},
         .numerics = true,
         .bind = to<&ImageSettings::data, &data::DataSettings::augmentation,
                    &data::AugmentationSettings::random_erasing>()},
        {.flag = "--class-weights",
         .help = "Weights of the classes in the training loss: balanced (by the number of training images), numbers "
                 "w0,w1,..., or a file with a weight or CLASS,WEIGHT a line.",
         .main_in = kT,
         .acts = {.in = kT, .on = kFiles},
         .numerics = true,
         .bind = to<&ImageSettings::class_weights>()},
    };
}

}  // namespace

std::vector<Option> preparation_options() {
    return concatenated({evaluation_rows(), training_rows()});
}

// Options of learning rate schedules; each exists only if its schedule is selected.

namespace {

const std::vector<Need> kStepped = {{"lr_schedule", {"stepped"}}};
const std::vector<Need> kExponential = {{"lr_schedule", {"exponential"}}};
const std::vector<Need> kPolynomial = {{"lr_schedule", {"polynomial_decay_lr"}}};
const std::vector<Need> kGradual = {{"lr_schedule", {"gradual_warmup_then_dec"}}};
const std::vector<Need> kWithEnd = {{"lr_schedule", {"polynomial_decay_lr", "gradual_warmup_then_dec"}}};
const std::vector<Need> kByEpochs = {{"lr_schedule", {"stepped", "cosine", "exponential", "polynomial_decay_lr"}}};

}  // namespace

std::vector<Option> schedule_options() {
    return {
        {.flag = "--warmup-epochs",
         .fallback = 5.0,
         .help = "Length of the linear warm-up of the learning rate; 0: none.",
         .unit = "epochs",
         .range = between(0, kMostEpochs),
         .commands = kT,
         .exists_with = kByEpochs,
         .numerics = true,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::warmup_epochs>()},
        {.flag = "--learning-rate-decay",
         .fallback = 0.1,
         .help = "stepped: factor at each drop.",
         .range = at_least(0),
         .commands = kT,
         .exists_with = kStepped,
         .numerics = true,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::stepped_decay>()},
        {.flag = "--learning-rate-schedule",
         .help = "stepped: positions of the drops, as comma-separated fractions of the run; without it, the model's.",
         .range = between(0, 1),
         .commands = kT,
         .exists_with = kStepped,
         .numerics = true,
         .bind = left_open(to<&ImageSettings::learning_rate, &optim::LearningRateSettings::stepped_fractions>())},
        {.flag = "--lr-decay-rate",
         .help = "exponential: factor at each drop.",
         .range = at_least(0),
         .commands = kT,
         .exists_with = kExponential,
         .numerics = true,
         .bind = left_open(to<&ImageSettings::learning_rate, &optim::LearningRateSettings::exponential_decay_rate>())},
        {.flag = "--lr-drops",
         .help = "exponential: number of drops, spread evenly over the run.",
         .range = between(0, kMostIterations),
         .commands = kT,
         .exists_with = kExponential,
         .numerics = true,
         .bind = left_open(to<&ImageSettings::learning_rate, &optim::LearningRateSettings::exponential_drops>())},
        {.flag = "--poly-lr-decay-power",
         .fallback = 2.0,
         .help = "polynomial_decay_lr: exponent.",
         .range = between(0, 1000),
         .commands = kT,
         .exists_with = kPolynomial,
         .numerics = true,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::polynomial_power>()},
        {.flag = "--poly-lr-end-ratio",
         .fallback = 1e-5,
         .help = "polynomial_decay_lr: final learning rate as a share of the base.",
         .range = at_least(0),
         .commands = kT,
         .exists_with = kPolynomial,
         .numerics = true,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::polynomial_end_ratio>()},
        {.flag = "--abs-end-learning-rate",
         .help = "polynomial_decay_lr: final learning rate; overrides the ratio. gradual_warmup_then_dec: learning "
                 "rate at the end of the decay; without it, 0.",
         .range = at_least(0),
         .commands = kT,
         .exists_with = kWithEnd,
         .numerics = true,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::polynomial_end>()},
        {.flag = "--warmup-iterations",
         .help = "gradual_warmup_then_dec: length of the linear warm-up to the base learning rate; 0: none.",
         .unit = "iterations",
         .range = between(0, kMostIterations),
         .commands = kT,
         .exists_with = kGradual,
         .numerics = true,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::warmup_iterations>()},
        {.flag = "--warmup-start-learning-rate",
         .help = "gradual_warmup_then_dec: learning rate of the first warm-up iteration.",
         .range = at_least(0),
         .commands = kT,
         .exists_with = kGradual,
         .numerics = true,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::warmup_start>()},
    };
}

}  // namespace cnntrain::tasks
