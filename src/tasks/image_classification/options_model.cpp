// Options of the models. Defaults that depend on the model: defaults.cpp.
#include "tasks/image_classification/options.h"

namespace cnntrain::tasks {

namespace {

const std::vector<Need> kResNeXt = {{"model", {"resnext"}}};
const std::vector<Need> kEfficientNet = {{"model", {"efficientnet"}}};
const std::vector<Need> kResNeXtOrEfficientNet = {{"model", {"resnext", "efficientnet"}}};

void write_form(Settings& settings, const Value& value) {
    settings.task.as<ImageSettings>().form =
        std::get<std::string>(value) == kSmallForm ? nn::NetworkForm::small_images : nn::NetworkForm::large_images;
}

/// Sets an option that two families share with different defaults.
void write_group_dim(Settings& settings, const Value& value) {
    nn::ModelSettings& model = settings.task.as<ImageSettings>().model;
    assign(model.resnext.group_dim, value);
    assign(model.efficientnet.group_dim, value);
}

}  // namespace

std::vector<Option> model_options() {
    return {
        {.flag = "--model-size",
         .type = Type::text,
         .help = "Depth of a ResNet or ResNeXt (56b: CIFAR ResNet-56 with bottlenecks); EfficientNet: B0 to B7, CIFAR.",
         .numerics = true,
         .bind = to<&ImageSettings::model, &nn::ModelSettings::size>()},
        {.flag = "--network-form",
         .type = Type::choice,
         .fallback = kAutoForm,
         .help = "Form of a ResNet or ResNeXt. large-images: as for ImageNet. small-images: as for CIFAR, with a small "
                 "stem and three stages. auto: the one that has the --model-size; if both have it, the data set's; for "
                 "photos in folders, small-images with an --image-size up to 64.",
         .choices = {kAutoForm, kLargeForm, kSmallForm},
         .numerics = true,
         .bind = {write_form}},
        {.flag = "--batch-norm",
         .fallback = false,
         .help = "Batch normalisation. If no norm is given: batch norm for a ResNet or ResNeXt on CIFAR, otherwise "
                 "group norm.",
         .numerics = true},
        {.flag = "--group-norm", .fallback = false, .help = "Group normalisation.", .numerics = true},
        {.flag = "--groups",
         .type = Type::integer,
         .help = "Groups of the group norm.",
         .range = between(0, kMostChannels),
         .needs = {{"group_norm"}},
         .numerics = true},
        {.flag = "--BN-decay",
         .type = Type::number,
         .fallback = 0.97,
         .help = "Decay of batch norm's moving averages.",
         .range = between(0, 1),
         .acts_in = kT,
         .needs = {{"batch_norm"}},
         .numerics = true,
         .bind = to<&ImageSettings::model, &nn::ModelSettings::bn_decay>()},
    };
}

std::vector<Option> resnext_options() {
    return {
        {.flag = "--convolution-groups",
         .type = Type::integer,
         .help = "Cardinality: groups of a grouped convolution.",
         .range = between(0, kMostChannels),
         .exists_with = kResNeXt,
         .numerics = true,
         .bind = to<&ImageSettings::model, &nn::ModelSettings::resnext, &nn::ResnextSettings::convolution_groups>()},
        {.flag = "--group-dim",
         .type = Type::integer,
         .help = "Channels per group of a grouped convolution (ResNeXt and EfficientNet).",
         .range = between(0, kMostChannels),
         .exists_with = kResNeXtOrEfficientNet,
         .numerics = true,
         .bind = {write_group_dim}},
        {.flag = "--widenet",
         .fallback = false,
         .help = "CIFAR: stages as wide as for ImageNet.",
         .exists_with = kResNeXt,
         .acts_on = ~kPhotos,
         .numerics = true,
         .bind = to<&ImageSettings::model, &nn::ModelSettings::resnext, &nn::ResnextSettings::widenet>()},
    };
}

std::vector<Option> efficientnet_options() {
    return {
        {.flag = "--dropout-rate",
         .type = Type::number,
         .help = "Dropout before the last layer; without it, by size.",
         .range = between(0, 1),
         .exists_with = kEfficientNet,
         .acts_in = kT,
         .numerics = true,
         .bind =
             to<&ImageSettings::model, &nn::ModelSettings::efficientnet, &nn::EfficientnetSettings::dropout_rate>()},
        {.flag = "--block-survival-prob",
         .type = Type::number,
         .fallback = 0.8,
         .help = "Drop-connect: survival probability of the deepest block.",
         .range = between(0, 1),
         .exists_with = kEfficientNet,
         .acts_in = kT,
         .numerics = true,
         .bind = to<&ImageSettings::model, &nn::ModelSettings::efficientnet,
                    &nn::EfficientnetSettings::block_survival_prob>()},
        {.flag = "--no-se",
         .fallback = false,
         .help = "No squeeze-excite.",
         .exists_with = kEfficientNet,
         .numerics = true,
         .bind = to_opposite<&ImageSettings::model, &nn::ModelSettings::efficientnet,
                             &nn::EfficientnetSettings::squeeze_excite>()},
        {.flag = "--depth-divisor",
         .type = Type::integer,
         .fallback = std::int64_t{8},
         .help = "Channel counts are rounded to multiples of this.",
         .range = between(1, kMostChannels),
         .exists_with = kEfficientNet,
         .numerics = true,
         .bind =
             to<&ImageSettings::model, &nn::ModelSettings::efficientnet, &nn::EfficientnetSettings::depth_divisor>()},
        {.flag = "--top-width",
         .type = Type::integer,
         .fallback = std::int64_t{1280},
         .help = "Channels of the head convolution before scaling.",
         .range = between(-kMostChannels, kMostChannels),
         .exists_with = kEfficientNet,
         .numerics = true,
         .bind = to<&ImageSettings::model, &nn::ModelSettings::efficientnet, &nn::EfficientnetSettings::top_width>()},
        {.flag = "--use-relu",
         .fallback = false,
         .help = "ReLU instead of swish.",
         .exists_with = kEfficientNet,
         .numerics = true,
         .bind =
             to_opposite<&ImageSettings::model, &nn::ModelSettings::efficientnet, &nn::EfficientnetSettings::swish>()},
        {.flag = "--expand-ratio",
         .type = Type::integer,
         .fallback = std::int64_t{6},
         .help = "Expansion of the MBConv blocks after the first.",
         .range = between(1, 1024),
         .exists_with = kEfficientNet,
         .numerics = true,
         .bind =
             to<&ImageSettings::model, &nn::ModelSettings::efficientnet, &nn::EfficientnetSettings::expand_ratio>()},
        {.flag = "--norm-epsilon",
         .type = Type::number,
         .fallback = 1e-3,
         .help = "Epsilon of the norms.",
         .range = at_least(0),
         .exists_with = kEfficientNet,
         .numerics = true,
         .bind = to<&ImageSettings::model, &nn::ModelSettings::epsilon>()},
        {.flag = "--proxy-norm",
         .fallback = false,
         .help = "Proxy-normalised activations.",
         .exists_with = kEfficientNet,
         .numerics = true,
         .bind = to<&ImageSettings::model, &nn::ModelSettings::efficientnet, &nn::EfficientnetSettings::proxy_norm>()},
        {.flag = "--proxy-epsilon",
         .type = Type::number,
         .fallback = 0.03,
         .help = "Epsilon of the proxy norm.",
         .range = at_least(0),
         .exists_with = kEfficientNet,
         .needs = {{"proxy_norm"}},
         .numerics = true,
         .bind =
             to<&ImageSettings::model, &nn::ModelSettings::efficientnet, &nn::EfficientnetSettings::proxy_epsilon>()},
        {.flag = "--proxy-recompute",
         .fallback = true,
         .help = "Keep the proxy norm's activations instead of recomputing them.",
         .exists_with = kEfficientNet,
         .acts_on_backends = kIpu,
         .idle_on_ipu = "--enable-recomputation decides about all activations",
         .off_switch = true},
        {.flag = "--width-coefficient",
         .type = Type::number,
         .fallback = 0.0,
         .help = "Scale of the channel counts; 0: by size.",
         .range = between(0, 100),
         .exists_with = kEfficientNet,
         .numerics = true,
         .bind = to<&ImageSettings::model, &nn::ModelSettings::efficientnet,
                    &nn::EfficientnetSettings::width_coefficient>()},
        {.flag = "--depth-coefficient",
         .type = Type::number,
         .fallback = 0.0,
         .help = "Scale of the block counts; 0: by size.",
         .range = between(0, 100),
         .exists_with = kEfficientNet,
         .numerics = true,
         .bind = to<&ImageSettings::model, &nn::ModelSettings::efficientnet,
                    &nn::EfficientnetSettings::depth_coefficient>()},
    };
}

}  // namespace cnntrain::tasks
