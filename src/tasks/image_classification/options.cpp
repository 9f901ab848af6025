// All options of image classification: its own, and its changes to shared ones.
#include "tasks/image_classification/options.h"

#include <algorithm>

#include "tasks/task_table.h"

namespace cnntrain::tasks {
namespace {

std::vector<Option> main_image_options() {
    std::vector<Option> rows = {
        {.flag = "--model",
         .help = "Model family.",
         .main_in = kTVE,
         .numerics = true,
         .bind = to<&ImageSettings::model, &nn::ModelSettings::family>()},
    };
    return concatenated({rows, shared_main_options()});
}

/// --base-learning-rate is an old name of N here. In BERT's programs it means the learning rate itself and is a
/// separate row (bert/bert.cpp).
std::vector<Option> rate_options() {
    return {
        {.flag = "--base-learning-rate-exponent",
         .help = "N of the learning rate 2^N x global batch; without it, the model's.",
         .aliases = {{"--base-learning-rate"}},
         .range = kExponents,
         .acts = {.in = kT},
         .numerics = true,
         .bind = left_open(to<&ImageSettings::learning_rate, &optim::LearningRateSettings::base_exponent>())},
        {.flag = "--abs-learning-rate",
         .help = "The learning rate itself; overrides the exponent.",
         .range = at_least(std::numeric_limits<double>::min()),
         .main_in = kT,
         .acts = {.in = kT},
         .numerics = true,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::absolute>()},
    };
}

std::vector<Option> training_options() {
    const std::vector<Option> smoothing = {
        {.flag = "--label-smoothing",
         .help = "Share of the target distributed over the other classes.",
         .range = between(0, 1),
         .acts = {.in = kT},
         .numerics = true,
         .bind = to<&ImageSettings::label_smoothing>()},
        {.flag = "--smoothing",
         .help = "Label smoothing as timm and PyTorch count it, distributed over all C classes: --label-smoothing "
                 "X(C-1)/C.",
         .range = between(0, 1),
         .acts = {.in = kT},
         .bind = to<&ImageSettings::smoothing>()},
    };
    return with_behind(with_behind(shared_training_options(), "--gradient-accumulation-count", rate_options()),
                       "--loss-scaling", smoothing);
}

Option refined(Option row) {
    if (row.flag == "--restore-path" || row.flag == "--generated-data" || row.flag == "--iterations")
        row.main_in &= ~kT;  // photos need other options more
    if (row.flag == "--task") {
        row.fallback = "image-classification";
        row.choices = task_names();
    } else if (row.flag == "--lr-schedule") {
        row.fallback = "stepped";
        row.choices = choices_of<optim::LrSchedule>();
        row.bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::schedule>();
    } else if (row.flag == "--input-threads" || row.flag == "--prefetch-depth") {
        row.acts.on = kFiles;
    } else if (row.flag == "--iterations") {
        row.acts.on = ~kFiles;
        row.acts.on_in = kV;
        row.acts.on_reason = "every image is validated once";
    }
    return row;
}

std::vector<Option> with_refinements(std::vector<Option> rows) {
    std::ranges::transform(rows, rows.begin(), refined);
    return rows;
}

}  // namespace

const OptionSet& image_options() {
    static const OptionSet options({
        {"Main", with_refinements(main_image_options())},
        {kThisProgram, concatenated({photo_options(), with_refinements(shared_run_options()), preparation_options(),
                                     convention_options()})},
        {"Model", model_options()},
        {"ResNeXt", resnext_options()},
        {"EfficientNet", efficientnet_options()},
        {"Dataset", with_refinements(dataset_options())},
        {"Training", with_refinements(training_options())},
        {"Learning-rate schedule", schedule_options()},
        {options::kHeadGroup, options::shared_head_options()},
        {"Device", with_refinements(shared_ipu_options())},
        {"Logging", shared_logging_options()},
    });
    return options;
}

// Options of the models. Defaults that depend on the model: defaults.cpp.

namespace {

const std::vector<Need> kResNeXt = {{"model", {"resnext"}}};
const std::vector<Need> kEfficientNet = {{"model", {"efficientnet"}}};
const std::vector<Need> kResNeXtOrEfficientNet = {{"model", {"resnext", "efficientnet"}}};

/// An option that two families share with different defaults.
Binding group_dim() {
    Binding binding =
        left_open(to<&ImageSettings::model, &nn::ModelSettings::resnext, &nn::ResnextSettings::group_dim>());
    binding.write = [](Settings& settings, const Value& value) {
        nn::ModelSettings& model = settings.task.as<ImageSettings>().model;
        assign(model.resnext.group_dim, value);
        assign(model.efficientnet.group_dim, value);
    };
    return binding;
}

template <auto kMember> constexpr Binding efficientnet() {
    return to<&ImageSettings::model, &nn::ModelSettings::efficientnet, kMember>();
}

}  // namespace

std::vector<Option> model_options() {
    return {
        {.flag = "--model-size",
         .help =
             "Depth of a ResNet or ResNeXt (56b: CIFAR ResNet-56 with bottlenecks); EfficientNet: B0 to B7, Lite0 to "
             "Lite4, V2-B0 to V2-B3, V2-S, V2-M, V2-L, CIFAR.",
         .main_in = kTVE,
         .numerics = true,
         .bind = left_open(to<&ImageSettings::model, &nn::ModelSettings::size>())},
        {.flag = "--batch-norm",
         .help = "Batch normalisation. If no norm is given: batch norm for a ResNet or ResNeXt on CIFAR, otherwise "
                 "group norm.",
         .numerics = true,
         .bind = to<&ImageSettings::batch_norm>()},
        {.flag = "--group-norm",
         .help = "Group normalisation.",
         .numerics = true,
         .bind = to<&ImageSettings::group_norm>()},
        {.flag = "--groups",
         .help = "Groups of the group norm.",
         .range = between(0, kMostChannels),
         .acts = {.needs = {{"group_norm"}}},
         .numerics = true,
         .bind = left_open(to<&ImageSettings::model, &nn::ModelSettings::groups>())},
        {.flag = "--BN-decay",
         .help = "Decay of batch norm's moving averages.",
         .range = between(0, 1),
         .acts = {.in = kT, .needs = {{"batch_norm"}}},
         .numerics = true,
         .bind = to<&ImageSettings::model, &nn::ModelSettings::bn_decay>()},
        {.flag = "--recompute-norms",
         .help = "Recompute results of norms in the backward pass where that lowers the peak of memory: a third less "
                 "for ResNet-50, 2 to 4 % more time, the same results. Without --pipeline only; --enable-recomputation "
                 "saves more and takes longer.",
         .acts = {.in = kT, .on_backends = kCpu},
         .bind = to<&ImageSettings::norm_recomputation>()},
    };
}

std::vector<Option> convention_options() {
    return numeric({
        {.flag = "--padding",
         .help =
             "Padding of convolutions and pools with a stride: TensorFlow's SAME, or symmetric as in PyTorch. Without "
             "it, that of the weights of --init-path; for own photos, a ResNet's and ResNeXt's is symmetric.",
         .bind = to<&ImageSettings::model, &nn::ModelSettings::padding>()},
        {.flag = "--norm-epsilon",
         .help = "Epsilon of the norms; without it, the model's.",
         .range = at_least(0),
         .bind = left_open(to<&ImageSettings::model, &nn::ModelSettings::epsilon>())},
        {.flag = "--bottleneck-stride",
         .help = "Convolution of a bottleneck that has the stride: 1x1 in the first ResNet and Keras's.",
         .exists_with = {{"model", {"resnet", "resnext"}}},
         .bind = to<&ImageSettings::model, &nn::ModelSettings::bottleneck_stride>()},
        {.flag = "--network-form",
         .help = "Stem and sizes for large images like ImageNet's or small ones like CIFAR's. Without it, the form of "
                 "the data set; for photos in folders, the one that has the --model-size, or, if both have it, small "
                 "with an --image-size up to 64.",
         .bind = to<&ImageSettings::network_form>()},
    });
}

std::vector<Option> resnext_options() {
    return numeric({
        {.flag = "--convolution-groups",
         .help = "Cardinality: groups of a grouped convolution.",
         .range = between(0, kMostChannels),
         .exists_with = kResNeXt,
         .bind = left_open(
             to<&ImageSettings::model, &nn::ModelSettings::resnext, &nn::ResnextSettings::convolution_groups>())},
        {.flag = "--group-dim",
         .help = "Channels per group of a grouped convolution (ResNeXt and EfficientNet).",
         .range = between(0, kMostChannels),
         .exists_with = kResNeXtOrEfficientNet,
         .bind = group_dim()},
        {.flag = "--widenet",
         .help = "CIFAR: stages as wide as for ImageNet.",
         .exists_with = kResNeXt,
         .acts = {.on = ~kPhotos},
         .bind = to<&ImageSettings::model, &nn::ModelSettings::resnext, &nn::ResnextSettings::widenet>()},
    });
}

std::vector<Option> efficientnet_options() {
    std::vector<Option> rows = {
        {.flag = "--dropout-rate",
         .help = "Dropout before the last layer; without it, by size.",
         .range = between(0, 1),
         .acts = {.in = kT},
         .bind = efficientnet<&nn::EfficientnetSettings::dropout_rate>()},
        {.flag = "--block-survival-prob",
         .help = "Drop-connect: survival probability of the deepest block.",
         .range = between(0, 1),
         .acts = {.in = kT},
         .bind = efficientnet<&nn::EfficientnetSettings::block_survival_prob>()},
        {.flag = "--no-se",
         .help = "No squeeze-excite.",
         .bind = to_opposite<&ImageSettings::model, &nn::ModelSettings::efficientnet,
                             &nn::EfficientnetSettings::squeeze_excite>()},
        {.flag = "--depth-divisor",
         .help = "Channel counts are rounded to multiples of this.",
         .range = between(1, kMostChannels),
         .bind = efficientnet<&nn::EfficientnetSettings::depth_divisor>()},
        {.flag = "--top-width",
         .help = "Channels of the head convolution before scaling.",
         .range = between(-kMostChannels, kMostChannels),
         .bind = efficientnet<&nn::EfficientnetSettings::top_width>()},
        {.flag = "--use-relu",
         .help = "ReLU instead of swish or ReLU6.",
         .bind =
             to_opposite<&ImageSettings::model, &nn::ModelSettings::efficientnet, &nn::EfficientnetSettings::swish>()},
        {.flag = "--expand-ratio",
         .help = "Expansion of the MBConv blocks that have 6 otherwise.",
         .range = between(1, 1024),
         .bind = efficientnet<&nn::EfficientnetSettings::expand_ratio>()},
        {.flag = "--proxy-norm",
         .help = "Proxy-normalised activations.",
         .bind = efficientnet<&nn::EfficientnetSettings::proxy_norm>()},
        {.flag = "--proxy-epsilon",
         .help = "Epsilon of the proxy norm.",
         .range = at_least(0),
         .acts = {.needs = {{"proxy_norm"}}},
         .bind = efficientnet<&nn::EfficientnetSettings::proxy_epsilon>()},
        {.flag = "--proxy-recompute",
         .fallback = true,
         .help = "Keep the proxy norm's activations instead of recomputing them.",
         .acts = {.on_backends = kIpu, .never_on_ipu = "--enable-recomputation decides about all activations"},
         .off_switch = true},
        {.flag = "--width-coefficient",
         .help = "Scale of the channel counts; 0: by size.",
         .range = between(0, 100),
         .bind = efficientnet<&nn::EfficientnetSettings::width_coefficient>()},
        {.flag = "--depth-coefficient",
         .help = "Scale of the block counts; 0: by size.",
         .range = between(0, 100),
         .bind = efficientnet<&nn::EfficientnetSettings::depth_coefficient>()},
    };
    for (Option& row : rows) {
        row.exists_with = kEfficientNet;
        row.numerics = row.acts.on_backends == kAll;  // all but the IPU's own
    }
    return rows;
}

// Options of the Dataset group.

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
                        "CLASS/*), tar shards of photos, or a table of photos and classes (.csv, .jsonl); inference "
                        "also takes any folder of photos, or one photo. Without it, the environment's DATA_DIR.";
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
        changed(shared("--labels"),
                [](Option& row) {
                    row.choices = {spelling(nn::LabelKind::single), spelling(nn::LabelKind::several)};
                    row.bind = to<&ImageSettings::data, &data::DataSettings::labels, &data::TableLabels::kind>();
                }),
        changed(shared("--label-separator"),
                [](Option& row) {
                    row.bind = to<&ImageSettings::data, &data::DataSettings::labels, &data::TableLabels::separator>();
                }),
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
        {.flag = "--maps",
         .help =
             "Folder for class-activation maps, which show the places of a photo that speak for its class: pictures, "
             "and maps.npy (numpy), float32, with a map [H,W] for each prediction.",
         .commands = kE,
         .main_in = kE,
         .names = Names::path,
         .bind = left_open(to<&Settings::main, &run::MainSettings::maps>())},
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
        changed(shared("--class-weights"),
                [](Option& row) {
                    row.main_in = kT;
                    row.acts.on = kFiles;
                }),
        {.flag = "--balanced-sampling",
         .help = "Draw each class equally often in training: an epoch has as many images as ever, those of rare "
                 "classes more than once, and some of frequent ones in a later epoch.",
         .acts = {.in = kT, .on = kFiles},
         .numerics = true,
         .bind = to<&ImageSettings::data, &data::DataSettings::balanced>()},
        shared("--focal-gamma"),
        shared("--teacher"),
        shared("--distill"),
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
    std::vector<Option> rows = {
        {.flag = "--warmup-epochs",
         .fallback = 5.0,
         .help = "Length of the linear warm-up of the learning rate; 0: none.",
         .unit = "epochs",
         .range = between(0, kMostEpochs),
         .exists_with = kByEpochs,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::warmup_epochs>()},
        {.flag = "--learning-rate-decay",
         .fallback = 0.1,
         .help = "stepped: factor at each drop.",
         .range = at_least(0),
         .exists_with = kStepped,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::stepped_decay>()},
        {.flag = "--learning-rate-schedule",
         .help = "stepped: positions of the drops, as comma-separated fractions of the run; without it, the model's.",
         .range = between(0, 1),
         .exists_with = kStepped,
         .bind = left_open(to<&ImageSettings::learning_rate, &optim::LearningRateSettings::stepped_fractions>())},
        {.flag = "--lr-decay-rate",
         .help = "exponential: factor at each drop.",
         .range = at_least(0),
         .exists_with = kExponential,
         .bind = left_open(to<&ImageSettings::learning_rate, &optim::LearningRateSettings::exponential_decay_rate>())},
        {.flag = "--lr-drops",
         .help = "exponential: number of drops, spread evenly over the run.",
         .range = between(0, kMostIterations),
         .exists_with = kExponential,
         .bind = left_open(to<&ImageSettings::learning_rate, &optim::LearningRateSettings::exponential_drops>())},
        {.flag = "--poly-lr-decay-power",
         .fallback = 2.0,
         .help = "polynomial_decay_lr: exponent.",
         .range = between(0, 1000),
         .exists_with = kPolynomial,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::polynomial_power>()},
        {.flag = "--poly-lr-end-ratio",
         .fallback = 1e-5,
         .help = "polynomial_decay_lr: final learning rate as a share of the base.",
         .range = at_least(0),
         .exists_with = kPolynomial,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::polynomial_end_ratio>()},
        {.flag = "--abs-end-learning-rate",
         .help = "polynomial_decay_lr: final learning rate; overrides the ratio. gradual_warmup_then_dec: learning "
                 "rate at the end of the decay; without it, 0.",
         .range = at_least(0),
         .exists_with = kWithEnd,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::polynomial_end>()},
        {.flag = "--warmup-iterations",
         .help = "gradual_warmup_then_dec: length of the linear warm-up to the base learning rate; 0: none.",
         .unit = "iterations",
         .range = between(0, kMostIterations),
         .exists_with = kGradual,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::warmup_iterations>()},
        {.flag = "--warmup-start-learning-rate",
         .help = "gradual_warmup_then_dec: learning rate of the first warm-up iteration.",
         .range = at_least(0),
         .exists_with = kGradual,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::warmup_start>()},
    };
    for (Option& row : rows) {
        row.commands = kT;
        row.numerics = true;
    }
    return rows;
}

}  // namespace cnntrain::tasks
