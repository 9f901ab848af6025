#include "cnntrain/graph/model.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/base/text.h"
#include "graph/nn/families.h"
#include "graph/nn/source_format.h"

namespace cnntrain::nn {

using graph::OpKind;
using graph::Phase;
using graph::Role;
using graph::ValueId;

namespace {

std::string_view name(NetworkForm form) {
    return form == NetworkForm::large_images ? "large images" : "small images";
}

Network make_network(const NetworkSettings& settings) {
    const FamilyRow family = row_of(settings.family);
    const std::vector<std::string> sizes = family.sizes(settings.form);
    if (std::find(sizes.begin(), sizes.end(), settings.size) == sizes.end()) {
        throw Error(ErrorKind::usage, std::string(spelling(settings.family)) + " for " +
                                          std::string(name(settings.form)) + " has no size '" + settings.size +
                                          "'; sizes: " + joined(sizes) + suggestion(settings.size, sizes));
    }
    return family.network(settings);
}

std::vector<std::string> names_of(const Network& network) {
    std::vector<std::string> names;
    for (const Function& function : network)
        names.push_back(function.name);
    return names;
}

/// The stage of every function. Error(usage) for wrong splits.
std::vector<int> stages_of(const std::vector<std::string>& names, const std::vector<std::string>& splits) {
    std::vector<int> stages(names.size(), 0);
    std::size_t after = 0;  // first place of the next split
    for (const std::string& split : splits) {
        const auto found = std::find(names.begin(), names.end(), split);
        if (found == names.end()) {
            throw Error(ErrorKind::usage, "pipeline split '" + split + "' is not a function of the model; functions: " +
                                              joined(names) + suggestion(split, names));
        }
        const auto at = static_cast<std::size_t>(found - names.begin());
        if (at < after) {
            throw Error(ErrorKind::usage, "pipeline splits must be in the order of the network, each once: '" + split +
                                              "' comes too late in " + joined(splits));
        }
        for (std::size_t i = at; i < stages.size(); ++i)
            ++stages[i];
        after = at + 1;
    }
    return stages;
}

void check_images(const BuildRequest& request) {
    const NetworkSettings& model = request.model;
    const Shape& shape = request.input.images.shape;
    const bool fits = shape.size() == 4 && shape[0] >= 1 && shape[0] % request.input.views == 0 &&
                      shape[1] == model.image_size && shape[2] == model.image_size && shape[3] == 3;
    if (!fits) {
        throw Error(ErrorKind::usage, "model input: expected images of shape [N, " + std::to_string(model.image_size) +
                                          ", " + std::to_string(model.image_size) + ", 3], got " +
                                          to_string(request.input.images));
    }
    if (model.classes < 2) {
        throw Error(ErrorKind::usage,
                    "model output: expected at least 2 classes, got " + std::to_string(model.classes));
    }
    if (request.label_smoothing < 0 || request.label_smoothing >= 1) {
        throw Error(ErrorKind::usage,
                    "label smoothing: expected 0 <= s < 1, got " + std::to_string(request.label_smoothing));
    }
}

ValueId mixed_images(graph::Graph& graph, ValueId images, const MixingSettings& mixing) {
    if (!mixing.any() || mixing.on_host) return images;
    const std::int64_t samples = graph.desc(images).shape[0];
    std::vector<ValueId> inputs = {images};
    if (mixing.mixup()) inputs.push_back(graph.add_input(std::string(kMixup), {DType::f32, {samples}}));
    if (mixing.cutmix()) inputs.push_back(graph.add_input(std::string(kCutmixBox), {DType::i32, {4}}));
    const graph::MixImagesAttrs attrs{mixing.mixup(), mixing.cutmix() ? cutmix_distance(samples) : 0};
    return graph.add_one(OpKind::mix_images, attrs, std::move(inputs), "all/mixed_images");
}

/// The mean logits of each sample's views.
ValueId mean_of_views(graph::Graph& graph, ValueId logits, std::int64_t views) {
    if (views == 1) return logits;
    const DType type = graph.desc(logits).dtype;
    const std::int64_t samples = graph.desc(logits).shape[0] / views;
    const std::int64_t classes = graph.desc(logits).shape[1];
    const graph::ConstantAttrs share{1.0 / static_cast<double>(views), {type, {samples, 1, views}}};
    const ValueId shares = graph.add_one(OpKind::constant, share, {}, "all/views/shares");
    const ValueId of_views =
        graph.add_one(OpKind::reshape, graph::ReshapeAttrs{{samples, views, classes}}, {logits}, "all/views/logits");
    const ValueId means =
        graph.add_one(OpKind::batched_matmul, graph::MatmulAttrs{}, {shares, of_views}, "all/views/means");
    return graph.add_one(OpKind::reshape, graph::ReshapeAttrs{{samples, classes}}, {means}, "all/views");
}

/// Adds the loss and the count of correct answers.
std::vector<ValueId> add_loss(graph::Graph& graph, ValueId logits, ValueId labels, const BuildRequest& request,
                              Mode mode) {
    const bool trains = mode == Mode::training;
    const std::vector<double> class_weights = trains ? request.class_weights : std::vector<double>();
    const MixingSettings mixing = trains ? request.mixing : MixingSettings{};
    const double label_smoothing = request.label_smoothing;
    if (request.labels == LabelKind::several) {
        return graph.add(OpKind::sigmoid_cross_entropy, graph::SigmoidAttrs{class_weights, trains ? request.focus : 0},
                         {logits, labels}, "all/loss");
    }
    if (!mixing.any()) {
        return graph.add(OpKind::softmax_cross_entropy, graph::SoftmaxAttrs{label_smoothing, class_weights},
                         {logits, labels}, "all/loss");
    }
    const std::int64_t samples = graph.desc(labels).shape[0];
    const std::vector<std::int64_t> distances = target_distances(mixing, samples);
    const TensorDesc shares{DType::f32, {samples, static_cast<std::int64_t>(distances.size())}};
    return graph.add(OpKind::mixed_cross_entropy, graph::MixedTargetsAttrs{label_smoothing, distances, class_weights},
                     {logits, labels, graph.add_input(std::string(kTargetShares), shares)}, "all/loss");
}

Model build(const BuildRequest& request, const graph::OpTable& ops, Mode mode) {
    check_images(request);
    const Network network = make_network(request.model);
    const std::vector<int> stages = stages_of(names_of(network), request.splits);

    graph::Graph graph(ops);
    const std::int64_t views = mode == Mode::evaluation ? request.input.views : 1;
    const std::int64_t samples = request.input.images.shape[0] / views;
    const ValueId images = graph.add_input(std::string(kImages), request.input.images);
    const ValueId labels = graph.add_input(
        std::string(kLabels),
        {DType::i32, request.labels == LabelKind::several ? Shape{samples, request.model.classes} : Shape{samples}});
    Layers layers(graph, request.model, request.numerics, mode);
    const MixingSettings mixing = mode == Mode::training ? request.mixing : MixingSettings{};
    ValueId x = mixed_images(graph, layers.prepare_images(images, request.input), mixing);
    for (std::size_t i = 0; i < network.size(); ++i) {
        graph.set_stage({stages[i]});
        x = network[i].build(layers, x, "all/" + network[i].name);
    }
    x = mean_of_views(graph, x, views);
    const std::vector<ValueId> sums = add_loss(graph, x, labels, request, mode);
    if (mode == Mode::training && request.teacher_temperature > 0) {
        const ValueId teacher =
            graph.add_input(std::string(kTeacherLogits), {DType::f32, {samples, graph.desc(x).shape[1]}});
        graph.mark_output(std::string(kTeacherLoss),
                          graph.add_one(OpKind::distillation, graph::DistillationAttrs{request.teacher_temperature},
                                        {x, labels, teacher}, "all/teacher_loss"));
    }
    graph.mark_output(std::string(kLoss), sums[0]);
    graph.mark_output(std::string(kCorrect), sums[1]);
    if (mode == Mode::evaluation && request.counts_top_5) {
        graph.mark_output(std::string(kCorrectTop5),
                          graph.add_one(OpKind::top_k_correct, graph::TopKAttrs{5}, {x, labels}, "all/top_5"));
    }
    graph.set_stage({0});

    ModelValues values = model_values(graph);
    return {std::move(graph), std::move(values)};
}

ValueId variable(const graph::Graph& graph, const std::string& name) {
    const auto found = graph.find(name);
    CNNTRAIN_CHECK(found.has_value(), "the graph has no '" + name + "'");
    return *found;
}

}  // namespace

FamilyRow row_of(Family family) {
    switch (family) {
        case Family::resnet:
            return resnet_family();
        case Family::resnext:
            return resnext_family();
        case Family::efficientnet:
            return efficientnet_family();
    }
    throw Error(ErrorKind::internal, "a family of models without a row");
}

FamilyInfo family_info(Family family) {
    return row_of(family).info;
}

std::vector<std::string> model_sizes(Family family, NetworkForm form) {
    return row_of(family).sizes(form);
}

bool pads_shortcuts(const NetworkSettings& settings) {
    const FamilyRow row = row_of(settings.family);
    return row.pads_shortcuts != nullptr && row.pads_shortcuts(settings);
}

std::vector<std::string> split_points(const NetworkSettings& settings) {
    return names_of(make_network(settings));
}

void check_splits(const std::vector<std::string>& functions, const std::vector<std::string>& splits) {
    stages_of(functions, splits);
}

Model build_training(const BuildRequest& request, const graph::OpTable& ops) {
    return build(request, ops, Mode::training);
}

Model build_evaluation(const BuildRequest& request, const graph::OpTable& ops) {
    return build(request, ops, Mode::evaluation);
}

ModelValues model_values(const graph::Graph& graph) {
    ModelValues values;
    values.images = variable(graph, std::string(kImages));
    values.labels = variable(graph, std::string(kLabels));
    values.loss = graph.output(kLoss);
    values.correct = graph.output(kCorrect);
    values.logits = graph.node(graph.value(values.loss).producer).inputs[0];
    values.parameters = graph.values_with_role(Role::parameter);
    return values;
}

std::int64_t parameter_count(const graph::Graph& graph) {
    std::int64_t count = 0;
    for (const ValueId id : graph.values_with_role(Role::parameter))
        count += graph.desc(id).elements();
    return count;
}

double forward_flops(const graph::Graph& graph) {
    double flops = 0;
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        if (graph.node({i}).phase == Phase::forward) flops += graph.node_flops({i});
    }
    return flops;
}

using graph::Initialiser;

namespace {

// Standard deviation of a standard normal distribution that is truncated at two deviations.
constexpr double kTruncatedDeviation = 0.87962566103423978;

struct Fans {
    double in = 1;
    double out = 1;
};

/// Fans of a kernel [K,K,I,O] or a matrix [I,O].
Fans fans(const graph::Value& variable) {
    const Shape& shape = variable.desc.shape;
    CNNTRAIN_CHECK(shape.size() >= 2, variable.name + ": a fan needs at least two axes, shape " + to_string(shape));
    const std::int64_t inputs = shape[shape.size() - 2];
    const std::int64_t outputs = shape.back();
    const double window = static_cast<double>(element_count(shape)) / static_cast<double>(inputs * outputs);
    return {window * static_cast<double>(inputs), window * static_cast<double>(outputs)};
}

template <typename Draw> HostTensor filled(const TensorDesc& desc, Draw draw) {
    HostTensor tensor(desc);
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
        tensor.set(i, draw());
    return tensor;
}

HostTensor filled_by_rows(const graph::Value& variable) {
    const std::vector<double>& rows = variable.initialiser.rows;
    CNNTRAIN_CHECK(!variable.desc.shape.empty() && variable.desc.shape[0] == std::ssize(rows),
                   variable.name + ": " + std::to_string(rows.size()) + " rows cannot fill the shape " +
                       to_string(variable.desc.shape));
    HostTensor tensor(variable.desc);
    const std::int64_t row_elements = tensor.elements() / std::ssize(rows);
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
        tensor.set(i, rows[static_cast<std::size_t>(i / row_elements)]);
    return tensor;
}

}  // namespace

HostTensor initial_value(const graph::Value& variable, std::uint64_t seed) {
    const Initialiser& initialiser = variable.initialiser;
    // The name is the only stable property of a variable.
    Rng rng(seed, RngStream::initialiser, 0, hash_text(variable.name));
    const auto truncated_normal = [&](double fan) {
        const double sigma = std::sqrt(initialiser.value / fan) / kTruncatedDeviation;
        return filled(variable.desc, [&, sigma] { return sigma * rng.truncated_normal(); });
    };
    switch (initialiser.kind) {
        case Initialiser::Kind::constant:
            return filled(variable.desc, [&] { return initialiser.value; });
        case Initialiser::Kind::truncated_normal_fan_in:
            return truncated_normal(fans(variable).in);
        case Initialiser::Kind::truncated_normal_fan_out:
            return truncated_normal(fans(variable).out);
        case Initialiser::Kind::glorot_uniform: {
            const Fans fan = fans(variable);
            const double limit = std::sqrt(6.0 / (fan.in + fan.out));
            return filled(variable.desc, [&, limit] { return rng.uniform(-limit, limit); });
        }
        case Initialiser::Kind::truncated_normal:
            return filled(variable.desc, [&] { return initialiser.value * rng.truncated_normal(); });
        case Initialiser::Kind::rows:
            return filled_by_rows(variable);
    }
    throw Error(ErrorKind::internal, variable.name + ": unknown initialiser");
}

namespace {

[[noreturn]] void refuse(const graph::Graph& graph, ValueId logits, const std::string& what) {
    throw Error(ErrorKind::unsupported, "the last layer, which makes '" + graph.value(logits).name + "', " + what);
}

/// The name of the parameter that `id` is, or is cast from.
std::string parameter_behind(const graph::Graph& graph, ValueId id, ValueId logits) {
    while (graph.value(id).producer.valid()) {
        const graph::Node& node = graph.node(graph.value(id).producer);
        if (node.kind != OpKind::cast) refuse(graph, logits, "does not read its weight and bias as they are stored");
        id = node.inputs[0];
    }
    return graph.value(id).name;
}

/// The node that makes the logits: a dense layer with a bias.
graph::Node last_layer(const graph::Graph& graph, ValueId logits) {
    const graph::NodeId producer = graph.value(logits).producer;
    CNNTRAIN_CHECK(producer.valid(), "logits are the result of a node");
    const graph::Node& node = graph.node(producer);
    if (node.kind != OpKind::dense || !node.as<graph::DenseAttrs>().bias)
        refuse(graph, logits, "is no dense layer with a bias");
    return node;
}

}  // namespace

LastLayer mark_features(graph::Graph& graph, ValueId logits, const std::string& name) {
    const graph::Node node = last_layer(graph, logits);
    const ValueId features = node.inputs[0];
    if (graph.desc(features).shape.size() != 2) {
        refuse(graph, logits,
               "reads " + to_string(graph.desc(features).shape) + ", not one vector of features for each sample");
    }
    LastLayer layer{parameter_behind(graph, node.inputs[1], logits), parameter_behind(graph, node.inputs[2], logits),
                    node.as<graph::DenseAttrs>().transposed};
    graph.mark_output(name, features);
    return layer;
}

void mark_maps(graph::Graph& graph, ValueId logits, const std::string& name) {
    const graph::Node layer = last_layer(graph, logits);
    ValueId mean = layer.inputs[0];
    const auto is = [&](OpKind kind) { return graph.node(graph.value(mean).producer).kind == kind; };
    if (is(OpKind::cast)) mean = graph.node(graph.value(mean).producer).inputs[0];
    if (!is(OpKind::global_average_pool)) refuse(graph, logits, "reads no mean over the places of an image");
    const ValueId places = graph.node(graph.value(mean).producer).inputs[0];
    const Shape shape = graph.desc(places).shape;
    const ValueId rows = graph.add_one(OpKind::reshape, graph::ReshapeAttrs{{shape[0] * shape[1] * shape[2], shape[3]}},
                                       {places}, "all/maps/rows");
    const DType type = graph.desc(layer.inputs[0]).dtype;
    const ValueId typed = in_type(graph, rows, type, "all/maps/cast");
    const ValueId maps =
        graph.add_one(OpKind::dense, layer.attrs, {typed, layer.inputs[1], layer.inputs[2]}, "all/maps/logits");
    graph.mark_output(
        name,
        graph.add_one(OpKind::reshape, graph::ReshapeAttrs{{shape[0], shape[1], shape[2], graph.desc(maps).shape[1]}},
                      {maps}, "all/maps"));
}

// Networks of other programs that this program does not have, recognised by names of their tensors.

namespace {

struct OtherNetwork {
    Patterns mark;  // of a tensor's name
    std::string_view title;
};

/// The first row with a mark in the file decides.
const std::vector<OtherNetwork>& other_networks() {
    static const std::vector<OtherNetwork> rows = {
        {Patterns({R"(^(features|layers)\.\d+\.(blocks\.)?\d+\.attn\.relative_position_bias_table$)"}), "a Swin"},
        {Patterns({R"(^features\.\d+\.\d+\.layer_scale$)", R"(^stages\.\d+\.blocks\.\d+\.(gamma|conv_dw\.weight)$)",
                   R"(^convnext(v2)?\.)"}),
         "a ConvNeXt"},
        {Patterns({R"(^(class_token|cls_token)$)", R"(^encoder\.layers\.encoder_layer_0\.)", R"(^(vit|deit)\.)",
                   R"(^patch_embed\.proj\.weight$)"}),
         "a vision transformer"},
        {Patterns({R"(^trunk_output\.block1\.)", R"(^s1\.b1\.conv1\.)"}), "a RegNet"},
        {Patterns({R"(^stage2\.0\.branch2\.)"}), "a ShuffleNet"},
        {Patterns({R"(^blocks\.0\.\d+\.conv_exp\.)"}), "an EfficientNet-EdgeTPU"},
        {Patterns({R"(^features\.\d+\.block\.\d+\.)", R"(^features\.\d+\.conv\.\d+\.)", R"(^conv_head\.bias$)",
                   R"(^expanded_conv(_|/))", R"(^conv_dw_1/)", R"(^mobilenet_v[12]\.)"}),
         "a MobileNet"},
        {Patterns({R"(^layers\.8\.0\.layers\.)"}), "an MNASNet"},
        {Patterns({R"(^blocks\.\d+\.layers\.\d+\.layers\.MBconv\.)"}), "a MaxViT"},
        {Patterns({R"(^features\.denseblock1\.)"}), "a DenseNet"},
        {Patterns({R"(^features\.3\.squeeze\.)"}), "a SqueezeNet"},
        {Patterns({R"(^features\.0\.weight$)", R"(^block1_conv1/kernel$)"}), "a VGG or AlexNet"},
        {Patterns({R"(^Conv2d_1a_3x3\.)", R"(^inception3a\.)"}), "an Inception network"},
        {Patterns({R"(^stages\.\d+\.blocks\.\d+\.norm1\.weight$)"}), "a ResNetV2"},
        {Patterns({R"(^resnet\.embedder\.)"}), "a ResNet with the names of transformers"},
        {Patterns({R"(^efficientnet\.(embeddings|encoder)\.)"}), "an EfficientNet with the names of transformers"},
        {Patterns({R"(^(visual|vision_model)\.)"}), "a CLIP model"},
        {Patterns({R"(^(bert|distilbert|roberta|cls)[./])"}), "a BERT"},
    };
    return rows;
}

}  // namespace

void refuse_other_networks(const TensorDescs& tensors, bool has_format) {
    const auto refuse = [](const std::string& what) {
        throw Error(ErrorKind::unsupported,
                    what +
                        "; this program has ResNet, ResNeXt and EfficientNet (B0 to B7, Lite, V2) with the "
                        "tensors of torchvision, timm and Keras (`cnntrain help weights`)");
    };
    for (const OtherNetwork& row : other_networks()) {
        const auto found =
            std::ranges::find_if(tensors, [&](const auto& entry) { return row.mark.match(entry.first); });
        if (found != tensors.end())
            refuse("the weights are of " + std::string(row.title) + ", as the tensor " + found->first + " shows");
    }
    if (has_format) return;
    refuse(tensors.empty()
               ? "there is no tensor in it"
               : "the weights are of no network that is known here: the first tensor is " + tensors.begin()->first);
}

}  // namespace cnntrain::nn
