// Options of the models. What a model sets when the user did not: model_defaults.cpp.
#include "config/option.h"

namespace cnntrain::config {

namespace {

constexpr std::uint32_t kResNeXt = bit(ModelFamily::resnext);
constexpr std::uint32_t kEfficientNet = bit(ModelFamily::efficientnet);

}  // namespace

std::vector<Option> model_options() {
    return {
        {.flag = "--model-size",
         .type = Type::text,
         .help = "Depth of a ResNet or ResNeXt (56b: CIFAR ResNet-56 with bottlenecks); EfficientNet: B0 to B7, CIFAR.",
         .numerics = true,
         .bind = to<&Settings::model, &ModelSettings::size>()},
        {.flag = "--batch-norm",
         .fallback = false,
         .help =
             "Batch normalisation. Neither norm given: batch norm for a ResNet or ResNeXt on CIFAR, else group norm.",
         .numerics = true},
        {.flag = "--group-norm", .fallback = false, .help = "Group normalisation.", .numerics = true},
        {.flag = "--groups",
         .type = Type::integer,
         .help = "Groups of the group norm.",
         .range = at_least(0),
         .numerics = true},
        {.flag = "--BN-decay",
         .type = Type::number,
         .fallback = 0.97,
         .help = "Decay of batch norm's moving averages.",
         .range = between(0, 1),
         .numerics = true,
         .bind = to<&Settings::model, &ModelSettings::batch_norm_decay>()},
    };
}

std::vector<Option> resnext_options() {
    return {
        {.flag = "--convolution-groups",
         .type = Type::integer,
         .help = "Cardinality.",
         .range = at_least(0),
         .models = kResNeXt,
         .numerics = true},
        {.flag = "--group-dim",
         .type = Type::integer,
         .help = "Channels per group of a grouped convolution (ResNeXt and EfficientNet).",
         .range = at_least(0),
         .models = kResNeXt | kEfficientNet,
         .numerics = true},
        {.flag = "--widenet",
         .fallback = false,
         .help = "Wide bottleneck for CIFAR.",
         .models = kResNeXt,
         .numerics = true},
    };
}

std::vector<Option> efficientnet_options() {
    return {
        {.flag = "--dropout-rate",
         .type = Type::number,
         .help = "Dropout before the last layer; without it, by size.",
         .range = between(0, 1),
         .models = kEfficientNet,
         .numerics = true},
        {.flag = "--block-survival-prob",
         .type = Type::number,
         .fallback = 0.8,
         .help = "Drop-connect: survival probability of the deepest block.",
         .range = between(0, 1),
         .models = kEfficientNet,
         .numerics = true},
        {.flag = "--no-se", .fallback = false, .help = "No squeeze-excite.", .models = kEfficientNet, .numerics = true},
        {.flag = "--depth-divisor",
         .type = Type::integer,
         .fallback = std::int64_t{8},
         .help = "Channel counts are rounded to multiples of this.",
         .range = at_least(1),
         .models = kEfficientNet,
         .numerics = true},
        {.flag = "--top-width",
         .type = Type::integer,
         .fallback = std::int64_t{1280},
         .help = "Channels of the head convolution before scaling.",
         .models = kEfficientNet,
         .numerics = true},
        {.flag = "--use-relu",
         .fallback = false,
         .help = "ReLU instead of swish.",
         .models = kEfficientNet,
         .numerics = true},
        {.flag = "--expand-ratio",
         .type = Type::integer,
         .fallback = std::int64_t{6},
         .help = "Expansion of the MBConv blocks after the first.",
         .range = at_least(1),
         .models = kEfficientNet,
         .numerics = true},
        {.flag = "--norm-epsilon",
         .type = Type::number,
         .fallback = 1e-3,
         .help = "Epsilon of the norms.",
         .range = at_least(0),
         .models = kEfficientNet,
         .numerics = true},
        {.flag = "--proxy-norm",
         .fallback = false,
         .help = "Proxy-normalised activations.",
         .models = kEfficientNet,
         .numerics = true},
        {.flag = "--proxy-epsilon",
         .type = Type::number,
         .fallback = 0.03,
         .help = "Epsilon of the proxy norm.",
         .range = at_least(0),
         .models = kEfficientNet,
         .numerics = true},
        {.flag = "--proxy-recompute",
         .fallback = true,
         .help = "Keep the proxy norm's activations instead of recomputing them.",
         .models = kEfficientNet,
         .ipu_only = true,
         .off_switch = true},
        {.flag = "--width-coefficient",
         .type = Type::number,
         .fallback = 0.0,
         .help = "Scale of the channel counts; 0: by size.",
         .range = at_least(0),
         .models = kEfficientNet,
         .numerics = true},
        {.flag = "--depth-coefficient",
         .type = Type::number,
         .fallback = 0.0,
         .help = "Scale of the block counts; 0: by size.",
         .range = at_least(0),
         .models = kEfficientNet,
         .numerics = true},
    };
}

}  // namespace cnntrain::config
