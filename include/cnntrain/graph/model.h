// Models as graphs: the families, and the graph of one micro-batch for training or for evaluation.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/tensor.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/settings.h"

namespace cnntrain::nn {

inline constexpr std::string_view kImages = "images";  // input [N,H,W,3]
/// Input i32[N], -1 marks padding; with several labels i32[N,C] of 0 and 1.
inline constexpr std::string_view kLabels = "labels";
inline constexpr std::string_view kMixup = "mixup";                   // input f32[N]: share of the sample's own image
inline constexpr std::string_view kCutmixBox = "cutmix_box";          // input i32[4]
inline constexpr std::string_view kTargetShares = "target_shares";    // input f32[N,P]
inline constexpr std::string_view kTeacherLogits = "teacher_logits";  // input f32[N,C]
inline constexpr std::string_view kTeacherLoss = "teacher_loss";      // output f32[]: sum over the samples
inline constexpr std::string_view kLoss = "loss";                     // output f32[]: sum over the samples
inline constexpr std::string_view kCorrect = "correct";               // output f32[]: sum over the samples
inline constexpr std::string_view kCorrectTop5 = "correct_top5";      // output f32[], on request: sum over the samples

/// The sizes of a family in one form, smallest first.
std::vector<std::string> model_sizes(Family family, NetworkForm form);

/// The network's functions in order. Their variables and nodes are named "all/<function>/...". A pipeline stage may
/// begin at any function; if one begins at the first, the stage before it only converts the images.
std::vector<std::string> split_points(const NetworkSettings& settings);

/// True if shortcuts that change shape are padded with zeros (the papers' type A) instead of projected (B).
bool pads_shortcuts(const NetworkSettings& settings);

/// `functions`: all functions of a network in order. Error(usage) for splits that are not among them (naming the
/// nearest) or not in this order.
void check_splits(const std::vector<std::string>& functions, const std::vector<std::string>& splits);

struct BuildRequest {
    NetworkSettings model;
    NumericsSettings numerics;
    InputSettings input;
    LabelKind labels = LabelKind::single;    // of an image: single or several
    double label_smoothing = 0;              // of single labels
    std::vector<double> class_weights = {};  // of the loss, in training (graph/op.h); of several labels, of a 1
    double focus = 0;                        // of the loss of several labels, in training
    MixingSettings mixing;                   // in training
    double teacher_temperature = 0;          // in training: adds kTeacherLogits and kTeacherLoss; 0: none
    std::vector<std::string> splits;         // in network order; stage k (from 0) begins at splits[k - 1]
    bool counts_top_5 = false;               // evaluation: adds the output kCorrectTop5; needs at least 6 classes
};

/// Important values of a model's graph.
struct ModelValues {
    graph::ValueId images;
    graph::ValueId labels;
    graph::ValueId logits;  // [N,C] in the compute type
    graph::ValueId loss;
    graph::ValueId correct;
    std::vector<graph::ValueId> parameters;  // trainable, in network order
};

struct Model {
    graph::Graph graph;
    ModelValues values;
};

/// Forward graph with the loss, norms and activations unfused. Error(usage): unknown size or split (naming the
/// nearest), images that do not fit the settings, groups that do not divide the channels, contradicting overrides.
Model build_training(const BuildRequest& request, const graph::OpTable& ops);
/// The same network and variables with batch norms reading their moving values.
Model build_evaluation(const BuildRequest& request, const graph::OpTable& ops);

/// The same values in a graph after rewrites, which change ids but not the names of variables and outputs.
ModelValues model_values(const graph::Graph& graph);

/// Number of elements of all parameters, printed as trainable weights.
std::int64_t parameter_count(const graph::Graph& graph);

/// Floating-point operations of one forward pass of the graph's micro-batch (a multiply-add counts 2).
double forward_flops(const graph::Graph& graph);

// Names and defaults of a model family; model.h has its networks. Each family defines them in its own file.

/// Order and contents of the name of a run's folder.
enum class RunNameStyle : std::uint8_t {
    replicas_first,      // RN20_bs32x2rx4a_BN_16.16
    accumulation_first,  // EfficientNet-B0_bs4x4ax2r_GN4: without the precision
};

/// Defaults of one network form. An empty size: the user must choose.
struct FormDefaults {
    std::string_view size;
    std::int64_t micro_batch_size = 1;
    NormKind norm = NormKind::group;
    std::int64_t groups = 32;  // of group norm
    double weight_decay = 0;
    std::map<graph::UpdateRule, double> rate_exponents = {};  // LearningRateSettings::base_exponent (settings.h)
    std::optional<double> rmsprop_base_decay_exp = {};
    double epochs = 0;
    std::vector<double> drop_fractions = {};  // stepped schedule: places of the drops, as shares of the run
    // Exponential schedule: factor and number of drops.
    std::optional<double> rate_decay = {};
    std::optional<std::int64_t> rate_drops = {};
    double label_smoothing = 0;
    bool two_pass_variance = false;  // in norms
};

struct FamilyInfo {
    std::string_view run_prefix;  // "RN", before the size
    RunNameStyle run_name = RunNameStyle::replicas_first;
    /// "ResNet-50".
    std::string (*title)(const ModelSettings& settings);
    /// Converts a size that the user typed into the family's spelling; null: sizes are taken as typed.
    std::string (*spelled_size)(std::string size) = nullptr;
    /// Height and width of the images of a size; 0, or null: the data set's.
    std::int64_t (*image_size)(std::string_view size) = nullptr;
    /// Ends the message that CIFAR's images have a single size.
    std::string_view advice_for_small_images = "leave out --image-size";

    // Defaults; 0: the family has no such value.
    std::int64_t convolution_groups = 0;
    std::int64_t group_dim = 0;
    double norm_epsilon = 1e-5;
    FormDefaults large_images;
    FormDefaults small_images;
    /// Parts of the names of variables without weight decay, unless the data set decays all variables (DatasetInfo).
    std::vector<std::string> undecayed = {"beta", "gamma"};
    bool one_group_with_batch_norm = false;   // batch norm records the number of groups as 1
    bool always_tells_decay = false;          // the summary always has the decay of moving averages
    bool splits_before_any_function = false;  // pipeline splits; otherwise usually before a ReLU
};

FamilyInfo family_info(Family family);

inline const FormDefaults& defaults_of(const FamilyInfo& info, NetworkForm form) {
    return form == NetworkForm::large_images ? info.large_images : info.small_images;
}

// Weights of image networks that other programs have saved: which network they are of, by names and shapes, and their
// conversion to this program's variables. The formats and their tables of names are rows of the families.

using TensorDescs = std::map<std::string, TensorDesc>;

/// Preparation of photos for a source's network: the shorter side becomes image_size / crop_fraction, the centre is cut
/// out, and x becomes (x / 255 - mean) / deviation.
struct SourcePixels {
    std::int64_t image_size = 224;
    std::array<double, 3> mean = {0.485, 0.456, 0.406};  // of R, G, B
    std::array<double, 3> deviation = {0.229, 0.224, 0.225};
    double crop_fraction = 0.875;
    std::string interpolation = "bilinear";  // or "bicubic", both antialiased

    bool operator==(const SourcePixels&) const = default;
};

/// The network that a file of weights belongs to.
struct SourceNetwork {
    std::string format;              // "timm"
    bool own = false;                // the names are this program's
    NetworkSettings settings;        // with the source's conventions; classes: 0 if the file has no last layer
    SourcePixels pixels;             // as the source's networks of this size have them
    bool normalises_inside = false;  // the file has the mean and variance of x / 255: Keras's EfficientNets
    std::string assumed = {};        // conventions that the file leaves open; empty: none
};

/// `architecture`: the source's own name of the network, such as timm's in its config.json; "" if unknown. Empty for
/// this program's names if their shapes do not identify the network. Error(unsupported) for a network that this program
/// does not have; the message names it, or a tensor and what was expected.
std::optional<SourceNetwork> source_network(const TensorDescs& tensors, const std::string& architecture);

/// Takes the normalisation of a network that normalises its input by a layer of its own, whose "mean" and "variance"
/// are among the tensors. Keras's published EfficientNets hold ImageNet's deviations in the place of variances, and
/// mend that by a rescaling without variables; networks that were trained anew do not.
void take_inner_normalisation(SourcePixels& pixels, const std::map<std::string, HostTensor>& tensors);

/// The tensors by the names and in the layout of a network's variables, `own` (parameters and moving averages). The
/// last layer may be missing or have other classes. Names of this program, and of no known format, are not changed.
/// Error(data) lists tensors that are missing, have other shapes or have no place in the network.
std::map<std::string, HostTensor> in_own_layout(std::map<std::string, HostTensor> tensors, const TensorDescs& own);

/// Scope of the variables of the last layer, which depend on the classes: "all/fc1/".
std::string_view head_scope(Family family);

// Weights of image networks for other programs: the same tables in the other direction.

enum class TargetProgram : std::uint8_t { torchvision, timm };

std::string_view name(TargetProgram program);

/// Weights with the names, the layout and the additional buffers of another program's network.
struct TargetWeights {
    std::string architecture;  // "resnet50", "tf_efficientnet_b0"
    std::map<std::string, HostTensor> tensors;
};

/// The program's own name of the network. Error(unsupported) says in what the networks differ: padding, norms, sizes.
std::string target_architecture(TargetProgram program, const NetworkSettings& network);

/// Why neither program has the network; "" if one of them has, or if there is no network of this size.
std::string why_no_target(const NetworkSettings& network);

/// `variables`: parameters and moving averages of the network. Errors as target_architecture().
TargetWeights in_target_layout(TargetProgram program, const NetworkSettings& network,
                               const std::map<std::string, HostTensor>& variables);

// First values of variables.

/// End of the names of moving averages of variances, which are never below 0.
inline constexpr std::string_view kMovingVariance = "/moving_variance";

/// Draws a variable from its initialiser, in its own type. The numbers depend on the seed and the variable's
/// name only, never on the order or number of variables.
HostTensor initial_value(const graph::Value& variable, std::uint64_t seed);

// The last layer of a network that classifies: logits = features x weight + bias.

struct LastLayer {
    std::string weight;     // parameter [F,C]
    std::string bias;       // parameter [C]
    bool by_class = false;  // the weight is [C,F]
};

/// Marks the input of the layer that makes `logits`, [N,F], as the output `name`. Error(unsupported) if it is no dense
/// layer with a bias on features [N,F].
LastLayer mark_features(graph::Graph& graph, graph::ValueId logits, const std::string& name);

/// Marks the class-activation maps [N,H,W,C] as the output `name` (Zhou et al. 2016): the last layer with its bias at
/// each place of the [N,H,W,F] whose mean it reads, so that the mean of a map is the class's logit. Error(unsupported)
/// for other networks.
void mark_maps(graph::Graph& graph, graph::ValueId logits, const std::string& name);

}  // namespace cnntrain::nn
