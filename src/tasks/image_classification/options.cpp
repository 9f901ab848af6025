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
/// separate row (bert/options.cpp).
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

}  // namespace

std::vector<Option> model_options() {
    return {
        {.flag = "--model-size",
         .help = "Depth of a ResNet or ResNeXt (56b: CIFAR ResNet-56 with bottlenecks); EfficientNet: B0 to B7, CIFAR.",
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
    return {
        {.flag = "--padding",
         .help =
             "Padding of convolutions and pools with a stride: TensorFlow's SAME, or symmetric as in PyTorch. Without "
             "it, that of the weights of --init-path; for own photos, a ResNet's and ResNeXt's is symmetric.",
         .numerics = true,
         .bind = to<&ImageSettings::model, &nn::ModelSettings::padding>()},
        {.flag = "--norm-epsilon",
         .help = "Epsilon of the norms; without it, the model's.",
         .range = at_least(0),
         .numerics = true,
         .bind = left_open(to<&ImageSettings::model, &nn::ModelSettings::epsilon>())},
        {.flag = "--bottleneck-stride",
         .help = "Convolution of a bottleneck that has the stride: 1x1 in the first ResNet and Keras's.",
         .exists_with = {{"model", {"resnet", "resnext"}}},
         .numerics = true,
         .bind = to<&ImageSettings::model, &nn::ModelSettings::bottleneck_stride>()},
        {.flag = "--network-form",
         .help = "Stem and sizes for large images like ImageNet's or small ones like CIFAR's. Without it, the form of "
                 "the data set; for photos in folders, the one that has the --model-size, or, if both have it, small "
                 "with an --image-size up to 64.",
         .numerics = true,
         .bind = to<&ImageSettings::network_form>()},
    };
}

std::vector<Option> resnext_options() {
    return {
        {.flag = "--convolution-groups",
         .help = "Cardinality: groups of a grouped convolution.",
         .range = between(0, kMostChannels),
         .exists_with = kResNeXt,
         .numerics = true,
         .bind = left_open(
             to<&ImageSettings::model, &nn::ModelSettings::resnext, &nn::ResnextSettings::convolution_groups>())},
        {.flag = "--group-dim",
         .help = "Channels per group of a grouped convolution (ResNeXt and EfficientNet).",
         .range = between(0, kMostChannels),
         .exists_with = kResNeXtOrEfficientNet,
         .numerics = true,
         .bind = group_dim()},
        {.flag = "--widenet",
         .help = "CIFAR: stages as wide as for ImageNet.",
         .exists_with = kResNeXt,
         .acts = {.on = ~kPhotos},
         .numerics = true,
         .bind = to<&ImageSettings::model, &nn::ModelSettings::resnext, &nn::ResnextSettings::widenet>()},
    };
}

std::vector<Option> efficientnet_options() {
    return {
        {.flag = "--dropout-rate",
         .help = "Dropout before the last layer; without it, by size.",
         .range = between(0, 1),
         .exists_with = kEfficientNet,
         .acts = {.in = kT},
         .numerics = true,
         .bind =
             to<&ImageSettings::model, &nn::ModelSettings::efficientnet, &nn::EfficientnetSettings::dropout_rate>()},
        {.flag = "--block-survival-prob",
         .help = "Drop-connect: survival probability of the deepest block.",
         .range = between(0, 1),
         .exists_with = kEfficientNet,
         .acts = {.in = kT},
         .numerics = true,
         .bind = to<&ImageSettings::model, &nn::ModelSettings::efficientnet,
                    &nn::EfficientnetSettings::block_survival_prob>()},
        {.flag = "--no-se",
         .help = "No squeeze-excite.",
         .exists_with = kEfficientNet,
         .numerics = true,
         .bind = to_opposite<&ImageSettings::model, &nn::ModelSettings::efficientnet,
                             &nn::EfficientnetSettings::squeeze_excite>()},
        {.flag = "--depth-divisor",
         .help = "Channel counts are rounded to multiples of this.",
         .range = between(1, kMostChannels),
         .exists_with = kEfficientNet,
         .numerics = true,
         .bind =
             to<&ImageSettings::model, &nn::ModelSettings::efficientnet, &nn::EfficientnetSettings::depth_divisor>()},
        {.flag = "--top-width",
         .help = "Channels of the head convolution before scaling.",
         .range = between(-kMostChannels, kMostChannels),
         .exists_with = kEfficientNet,
         .numerics = true,
         .bind = to<&ImageSettings::model, &nn::ModelSettings::efficientnet, &nn::EfficientnetSettings::top_width>()},
        {.flag = "--use-relu",
         .help = "ReLU instead of swish.",
         .exists_with = kEfficientNet,
         .numerics = true,
         .bind =
             to_opposite<&ImageSettings::model, &nn::ModelSettings::efficientnet, &nn::EfficientnetSettings::swish>()},
        {.flag = "--expand-ratio",
         .help = "Expansion of the MBConv blocks after the first.",
         .range = between(1, 1024),
         .exists_with = kEfficientNet,
         .numerics = true,
         .bind =
             to<&ImageSettings::model, &nn::ModelSettings::efficientnet, &nn::EfficientnetSettings::expand_ratio>()},
        {.flag = "--proxy-norm",
         .help = "Proxy-normalised activations.",
         .exists_with = kEfficientNet,
         .numerics = true,
         .bind = to<&ImageSettings::model, &nn::ModelSettings::efficientnet, &nn::EfficientnetSettings::proxy_norm>()},
        {.flag = "--proxy-epsilon",
         .help = "Epsilon of the proxy norm.",
         .range = at_least(0),
         .exists_with = kEfficientNet,
         .acts = {.needs = {{"proxy_norm"}}},
         .numerics = true,
         .bind =
             to<&ImageSettings::model, &nn::ModelSettings::efficientnet, &nn::EfficientnetSettings::proxy_epsilon>()},
        {.flag = "--proxy-recompute",
         .fallback = true,
         .help = "Keep the proxy norm's activations instead of recomputing them.",
         .exists_with = kEfficientNet,
         .acts = {.on_backends = kIpu, .never_on_ipu = "--enable-recomputation decides about all activations"},
         .off_switch = true},
        {.flag = "--width-coefficient",
         .help = "Scale of the channel counts; 0: by size.",
         .range = between(0, 100),
         .exists_with = kEfficientNet,
         .numerics = true,
         .bind = to<&ImageSettings::model, &nn::ModelSettings::efficientnet,
                    &nn::EfficientnetSettings::width_coefficient>()},
        {.flag = "--depth-coefficient",
         .help = "Scale of the block counts; 0: by size.",
         .range = between(0, 100),
         .exists_with = kEfficientNet,
         .numerics = true,
         .bind = to<&ImageSettings::model, &nn::ModelSettings::efficientnet,
                    &nn::EfficientnetSettings::depth_coefficient>()},
    };
}

}  // namespace cnntrain::tasks
