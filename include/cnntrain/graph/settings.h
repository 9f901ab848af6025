// Settings of the computation: activations, the network and its number formats, the optimiser and its
// learning rate. The user sets ModelSettings, PrecisionSettings and the settings of optim; the others follow from
// these, the data set and the backend.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/tensor.h"
#include "cnntrain/base/text.h"
#include "cnntrain/graph/update_rule.h"

namespace cnntrain::graph {

// activation.h says what each computes.

enum class Activation : std::uint8_t { none, relu, relu6, swish, sigmoid, gelu, gelu_tanh, tanh };

/// All activations, for tests. op.cpp has one row for each.
inline constexpr std::array kActivations = {Activation::none,      Activation::relu,    Activation::relu6,
                                            Activation::swish,     Activation::sigmoid, Activation::gelu,
                                            Activation::gelu_tanh, Activation::tanh};
static_assert(kActivations.size() == enumerator_count<Activation>());

}  // namespace cnntrain::graph

namespace cnntrain::nn {

enum class Family : std::uint8_t { resnet, resnext, efficientnet };
constexpr auto spellings(Family) {
    return std::to_array<std::string_view>({"resnet", "resnext", "efficientnet"});
}

enum class NormKind : std::uint8_t { batch, group };

/// The use of a forward graph.
enum class Mode : std::uint8_t { training, evaluation };

/// The labels of a text or a photo.
enum class LabelKind : std::uint8_t {
    single,   // one of C classes
    score,    // a number (regression); of texts only
    several,  // any of C labels, also none
};
constexpr auto spellings(LabelKind) {
    return std::to_array<std::string_view>({"single", "score", "several"});
}

/// Padding of convolutions and of max-pooling. The rules differ where there is a stride.
enum class PaddingRule : std::uint8_t {
    same,       // TensorFlow's SAME: an odd pixel is below and to the right
    symmetric,  // PyTorch's: as many pixels on each side
};
constexpr auto spellings(PaddingRule) {
    return std::to_array<std::string_view>({"same", "symmetric"});
}

/// The convolution of a bottleneck that has the stride.
enum class BottleneckStride : std::uint8_t {
    spatial,  // 3x3 ("v1.5")
    first,    // 1x1 (He et al. 2015)
};
constexpr auto spellings(BottleneckStride) {
    return std::to_array<std::string_view>({"3x3", "1x1"});
}

/// ResNeXt: the middle width of a bottleneck, relative to the stem's, is group_dim * convolution_groups / stem filters.
struct ResnextSettings {
    std::int64_t convolution_groups = 32;
    std::int64_t group_dim = 4;  // channels per group of the grouped convolutions
    bool widenet = false;        // small images: stage widths from 64 instead of from 16
};

struct EfficientnetSettings {
    double width_coefficient = 0;  // of the channel counts; 0: the size's
    double depth_coefficient = 0;  // of the block counts; 0: the size's
    std::int64_t depth_divisor = 8;
    std::int64_t top_width = 1280;  // before scaling
    std::int64_t expand_ratio = 6;  // of the blocks that are published with 6
    std::int64_t group_dim = 1;     // channels per group of the spatial convolutions
    bool squeeze_excite = true;     // where the size has it
    bool swish = true;              // false: ReLU instead of the size's activation
    bool proxy_norm = false;        // activations are standardised by their proxies
    double proxy_epsilon = 0.03;
    std::optional<double> dropout_rate;  // empty: the size's
    double block_survival_prob = 0.8;    // of the deepest block
};

struct ModelSettings {
    Family family = Family::resnet;
    std::string size = "50";  // "50", "56b", "B4"; model_sizes() lists the legal ones
    NormKind norm = NormKind::batch;
    /// Group norm only; contiguous channels, must divide every channel count. EfficientNet: at most one per channel.
    std::int64_t groups = 32;
    double epsilon = 1e-5;
    PaddingRule padding = PaddingRule::same;
    BottleneckStride bottleneck_stride = BottleneckStride::spatial;
    double bn_decay = 0.97;  // of the moving averages; optim::append_update() reads it
    ResnextSettings resnext{};
    EfficientnetSettings efficientnet{};
};

/// The two published forms of the families, for images like ImageNet's and like CIFAR's. The second one has a smaller
/// stem and other sizes. DatasetInfo::network_form has the form of a data set.
enum class NetworkForm : std::uint8_t { large_images, small_images };
constexpr auto spellings(NetworkForm) {
    return std::to_array<std::string_view>({"large", "small"});
}

/// A model with the settings that follow from the data set.
struct NetworkSettings : ModelSettings {
    std::int64_t norm_replicas = 1;  // replicas whose micro-batches form one micro-batch of the graph
    NetworkForm form = NetworkForm::large_images;
    std::int64_t classes = 1000;
    std::int64_t image_size = 224;
    /// Regular expressions. In training, batch norms whose moving averages match normalise with these and keep them.
    std::vector<std::string> frozen = {};
};

/// Compute type . master-weight type; "16" is the backend's 16-bit type.
enum class Precision : std::uint8_t { p16_16, p16_32, p32_32 };
constexpr auto spellings(Precision) {
    return std::to_array<std::string_view>({"16.16", "16.32", "32.32"});
}

/// The arithmetic of the compute type "16"; automatic: the backend's fastest on this processor. 16-bit weights always
/// have the backend's 16-bit type.
enum class ComputeType : std::uint8_t { automatic, bf16, f32 };
constexpr auto spellings(ComputeType) {
    return std::to_array<std::string_view>({"auto", "bf16", "f32"});
}

struct PrecisionSettings {
    Precision precision = Precision::p16_16;
    ComputeType compute_type = ComputeType::automatic;
    std::vector<std::string> force_weight_to_fp16;  // variables whose name contains one of these
    std::vector<std::string> force_weight_to_fp32;
};

/// 16.16: {half or f32, half}; 16.32: {half or f32, f32}; 32.32: {f32, f32}. A weight whose stored type is not the
/// compute type is cast at each use. Exceptions, because their arithmetic is f32: norms read f32 gamma, beta and moving
/// values without a cast, the last layer its f32 bias, and rows of proxies are always read in f32.
struct NumericsSettings {
    DType compute = DType::f32;                     // activations and their gradients
    DType parameters = DType::f32;                  // stored parameters and moving averages
    DType half = DType::bf16;                       // the 16-bit type of the overrides
    std::vector<std::string> force_weight_to_fp16;  // variables whose name contains one of these
    std::vector<std::string> force_weight_to_fp32;
};

/// y = x * scale + shift per channel (R, G, B), with x in 0..255.
struct Normalisation {
    std::array<float, 3> scale;
    std::array<float, 3> shift;
    bool operator==(const Normalisation&) const = default;
};

struct InputSettings {
    TensorDesc images;                       // [N,H,W,3] as the data pipeline delivers it: u8, f32 or the compute type
    std::optional<Normalisation> normalise;  // on the device
    std::int64_t views = 1;  // evaluation: images of each sample, next to each other; its logits are their mean
};

// Normalisation and mixing of images, on the host or on the device.

/// Settings for mixing the samples of a training micro-batch (data/loader.h).
struct MixingSettings {
    double mixup_alpha = 0;           // parameter of Beta(alpha, alpha); 0: no mixup
    double cutmix_lambda = 1;         // share of an image that stays, 0..1; 1: no cutmix
    std::int64_t cutmix_version = 1;  // 1: the share is random around lambda; 2: it equals lambda
    bool on_host = false;             // the host mixes images; otherwise the device does

    bool mixup() const { return mixup_alpha > 0; }
    bool cutmix() const { return cutmix_lambda < 1; }
    bool any() const { return mixup() || cutmix(); }
};

/// Distance of the cutmix partner: 2, or 1 in a micro-batch of two samples.
constexpr std::int64_t cutmix_distance(std::int64_t micro_batch) {
    return micro_batch > 2 ? 2 : 1;
}

/// Distances of the partners whose labels form a sample's target; 0 is the sample itself. With k = cutmix_distance():
/// mixup {0, 1}, cutmix {0, k}, both {0, 1, k, k + 1}.
inline std::vector<std::int64_t> target_distances(const MixingSettings& settings, std::int64_t micro_batch) {
    std::vector<std::int64_t> distances = {0};
    if (settings.mixup()) distances.push_back(1);
    if (settings.cutmix()) {
        const std::int64_t k = cutmix_distance(micro_batch);
        for (std::size_t i = 0, count = distances.size(); i < count; ++i)
            distances.push_back(distances[i] + k);
    }
    return distances;
}

}  // namespace cnntrain::nn

namespace cnntrain::optim {

/// Schedules of image classification, by iterations and epochs (optimiser.h). StepSchedule below has those of BERT.
/// Their cosine and polynomial have different formulas, because the tasks' original programs differ.
enum class LrSchedule : std::uint8_t { stepped, cosine, exponential, polynomial, gradual };
constexpr auto spellings(LrSchedule) {
    return std::to_array<std::string_view>(
        {"stepped", "cosine", "exponential", "polynomial_decay_lr", "gradual_warmup_then_dec"});
}

struct LarsSettings {
    double trust_scale = 1e-3;  // --lars-eeta
    double weight_decay = 0;    // --lars-weight-decay, in addition to --weight-decay
    double epsilon = 0;
    std::vector<std::string> skip;  // name contains one: trust ratio 1, without this weight decay
};

/// AdamW and LAMB. Their weight decay is decoupled from the gradient.
struct AdamSettings {
    double beta1 = 0.9;    // decay of the mean of gradients
    double beta2 = 0.999;  // decay of the mean of squares
    double epsilon = 1e-6;
    bool corrects_bias = true;
    /// Bias correction multiplies the whole step, decay included, instead of the means. It is one update ahead.
    bool corrects_step = false;
    std::vector<std::string> skip = {"bias", "beta", "gamma"};  // LAMB: trust ratio 1 if a name contains one
    /// LAMB: a variable whose name contains one holds queries, keys and values in column blocks with separate trust
    /// ratios.
    std::vector<std::string> column_blocks = {"qkv"};
};

/// Use of the global gradient norm, before any other rule: the norm of all gradients of an update together, without
/// loss scaling.
enum class GradientNorm : std::uint8_t {
    ignored,
    limited,         // clipped to `gradient_norm_limit`
    divides,         // divides gradients if it is above 1 (LAMB of You et al. 2020 as NVIDIA trains BERT)
    limits_divides,  // clipped, then divided
};

struct OptimiserSettings {
    graph::UpdateRule rule = graph::UpdateRule::sgd;
    double momentum = 0.9;
    double weight_decay = 0;
    std::vector<std::string> weight_decay_exclude;  // not decayed if their name contains one
    double loss_scaling = 1;
    std::optional<double> rmsprop_decay;           // of the mean square
    std::optional<double> rmsprop_base_decay_exp;  // without it: decay = 1 - 2^exponent * global batch
    double rmsprop_epsilon = 1e-3;
    LarsSettings lars;
    AdamSettings adam;
    bool fp32_weight_copy = false;             // updates of 16-bit variables act on 32-bit master slots
    std::vector<std::string> variable_filter;  // train only variables whose name contains one; empty: all
    std::vector<std::string> freeze;           // regular expressions of variables that are not trained
    double layer_decay = 1;                    // factor of the learning rate from each layer to the one before it
    bool adds_micro_batches = false;           // gradients of micro-batches are added instead of averaged
    GradientNorm gradient_norm = GradientNorm::ignored;
    double gradient_norm_limit = 1;
    /// First update (from 0) -> loss scaling from there on; empty: `loss_scaling`. It keeps small gradients within the
    /// range of 16-bit types. Updates divide by it, so that it changes results by rounding alone; in bf16 and f32, a
    /// power of two changes no bit.
    std::map<std::int64_t, double> loss_scaling_by_step;
};

/// Members of the schedules that are not selected keep their defaults.
struct LearningRateSettings {
    LrSchedule schedule = LrSchedule::stepped;
    double base_exponent = 0.0;             // without `absolute`: lr0 = 2^exponent * global batch
    std::optional<double> absolute;         // lr0
    double warmup_epochs = 0.0;             // 0: no warm-up. The gradual schedule has the next two instead
    std::int64_t warmup_iterations = 0;     // gradual: weight updates of the warm-up
    double warmup_start = 0.0;              // gradual: first rate of the warm-up, which ends at lr0
    double stepped_decay = 0.0;             // factor at each drop
    std::vector<double> stepped_fractions;  // places of the drops, as shares of the run
    double exponential_decay_rate = 0.0;    // factor at each drop
    std::int64_t exponential_drops = 0;     // evenly spaced over the epochs
    double polynomial_power = 0.0;
    double polynomial_end_ratio = 0.0;     // without `polynomial_end`: end rate = ratio * lr0
    std::optional<double> polynomial_end;  // end rate; gradual: 0 by default
};

/// Learning rate of the schedule's plateau for a global batch (samples per weight update of all processes).
inline double base_learning_rate(const LearningRateSettings& settings, std::int64_t global_batch) {
    if (settings.absolute) return *settings.absolute;
    return std::exp2(settings.base_exponent) * static_cast<double>(global_batch);
}

/// Schedules of BERT's tasks, by the number of the update, from 0 (optimiser.h). LrSchedule above has those of
/// image classification: its cosine begins with the run instead of after the warm-up, and its polynomial falls to the
/// user's end rate instead of kLowestStepRate.
enum class StepSchedule : std::uint8_t { custom, natural_exponential, polynomial, cosine };
constexpr auto spellings(StepSchedule) {
    return std::to_array<std::string_view>({"custom", "natural_exponential", "polynomial_decay", "cosine_decay"});
}

struct StepRateSettings {
    StepSchedule schedule = StepSchedule::polynomial;
    double base = 2e-5;                     // at the end of the warm-up
    std::vector<double> powers = {1};       // first: of the warm-up; last: of the decay
    double warmup = 0.1;                    // number of updates, or, below 1, share of the run
    std::map<std::int64_t, double> values;  // custom: first update -> rate from there on
    std::int64_t decay_steps = 1;           // natural_exponential: updates between drops
    double decay_rate = 0;                  // natural_exponential: a drop multiplies by exp(-decay_rate)
};

inline bool warms_up(const LearningRateSettings& settings) {
    return settings.schedule == LrSchedule::gradual ? settings.warmup_iterations > 0 : settings.warmup_epochs > 0;
}

/// Decay of RMSprop's mean square; 0 if neither the decay nor the exponent is given.
inline double rmsprop_decay(const OptimiserSettings& settings, std::int64_t global_batch) {
    if (settings.rmsprop_decay) return *settings.rmsprop_decay;
    if (!settings.rmsprop_base_decay_exp) return 0;
    return 1 - std::exp2(*settings.rmsprop_base_decay_exp) * static_cast<double>(global_batch);
}

}  // namespace cnntrain::optim
