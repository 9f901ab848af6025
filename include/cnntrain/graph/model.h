// Models as graphs: the families, and the graph of one micro-batch for training or for evaluation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/settings.h"

namespace cnntrain::nn {

inline constexpr std::string_view kImages = "images";               // input [N,H,W,3]
inline constexpr std::string_view kLabels = "labels";               // input i32[N]; -1 marks padding
inline constexpr std::string_view kMixup = "mixup";                 // input f32[N]: share of the sample's own image
inline constexpr std::string_view kCutmixBox = "cutmix_box";        // input i32[4]
inline constexpr std::string_view kTargetShares = "target_shares";  // input f32[N,P]
inline constexpr std::string_view kLoss = "loss";                   // output f32[]: sum over the samples
inline constexpr std::string_view kCorrect = "correct";             // output f32[]: sum over the samples
inline constexpr std::string_view kCorrectTop5 = "correct_top5";    // output f32[], on request: sum over the samples

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
    double label_smoothing = 0;
    std::vector<double> class_weights = {};  // of the loss, in training (SoftmaxAttrs in graph/op.h); empty: all 1
    MixingSettings mixing;                   // in training
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

}  // namespace cnntrain::nn
