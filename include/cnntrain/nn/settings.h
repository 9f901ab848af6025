// Settings of a model: network, number formats, inputs. The user sets ModelSettings and PrecisionSettings; the other
// settings follow from these, the data set and the backend.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/enumerators.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/data/image_settings.h"

namespace cnntrain::nn {

enum class Family : std::uint8_t { resnet, resnext, efficientnet };
/// As flags, configurations, logs and files spell them, in the enumerators' order.
inline constexpr std::array<std::string_view, 3> kFamilyNames = {"resnet", "resnext", "efficientnet"};
static_assert(kFamilyNames.size() == enumerator_count<Family>());

enum class NormKind : std::uint8_t { batch, group };

/// Padding of convolutions and of max-pooling. The rules differ where there is a stride.
enum class PaddingRule : std::uint8_t {
    same,       // TensorFlow's SAME: an odd pixel is below and to the right
    symmetric,  // PyTorch's: as many pixels on each side
};
inline constexpr std::array<std::string_view, 2> kPaddingRuleNames = {"same", "symmetric"};
static_assert(kPaddingRuleNames.size() == enumerator_count<PaddingRule>());

/// The convolution of a bottleneck that has the stride.
enum class BottleneckStride : std::uint8_t {
    spatial,  // 3x3 ("v1.5")
    first,    // 1x1 (He et al. 2015)
};
inline constexpr std::array<std::string_view, 2> kBottleneckStrideNames = {"3x3", "1x1"};
static_assert(kBottleneckStrideNames.size() == enumerator_count<BottleneckStride>());

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
    std::int64_t expand_ratio = 6;  // of the blocks of stages 2 to 7
    std::int64_t group_dim = 1;     // channels per group of the spatial convolutions
    bool squeeze_excite = true;
    bool swish = true;        // false: ReLU
    bool proxy_norm = false;  // activations are standardised by their proxies
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

/// The arithmetic of the compute type "16"; automatic: the backend's fastest on this processor. 16-bit weights always
/// have the backend's 16-bit type.
enum class ComputeType : std::uint8_t { automatic, bf16, f32 };

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

struct InputSettings {
    TensorDesc images;  // [N,H,W,3] as the data pipeline delivers it: u8, f32 or the compute type
    std::optional<data::Normalisation> normalise;  // on the device
    std::int64_t views = 1;  // evaluation: images of each sample, next to each other; its logits are their mean
};

}  // namespace cnntrain::nn
