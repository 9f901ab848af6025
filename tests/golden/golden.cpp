#include "golden/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/graph/optimiser.h"
#include "cnntrain/graph/passes.h"
#include "golden/formula.h"
#include "support/tensor_source.h"

namespace cnntrain::golden {

using graph::Graph;
using nlohmann::json;

namespace {

json load_golden(const std::string& name) {
    const std::string path = std::string(CNNTRAIN_SOURCE_DIR) + "/tests/golden/" + name + ".json";
    std::ifstream file(path);
    if (!file) throw Error(ErrorKind::data, path + ": cannot be read; make it with tools/golden/make_golden.py");
    return json::parse(file);
}

nn::Family family_of(const std::string& name) {
    for (const auto family : {nn::Family::resnet, nn::Family::resnext, nn::Family::efficientnet}) {
        if (spelling(family) == name) return family;
    }
    throw Error(ErrorKind::data, name + ": no family of models");
}

nn::BuildRequest build_request(const json& settings) {
    nn::BuildRequest request;
    nn::NetworkSettings& model = request.model;
    const std::int64_t groups = settings.at("group_norm_groups");
    model.family = family_of(settings.value("family", std::string("resnet")));
    model.size = settings.at("size");
    model.form = settings.at("imagenet").get<bool>() ? nn::NetworkForm::large_images : nn::NetworkForm::small_images;
    model.classes = settings.at("classes");
    model.image_size = settings.at("image_size");
    model.norm = groups > 0 ? nn::NormKind::group : nn::NormKind::batch;
    model.groups = groups;
    model.epsilon = settings.value("epsilon", model.epsilon);
    const auto option = [&](const char* key) { return settings.value(key, std::int64_t{1}); };
    model.resnext.convolution_groups = option("convolution_groups");
    model.resnext.group_dim = option("group_dim");
    model.efficientnet.group_dim = option("group_dim");
    model.efficientnet.expand_ratio = option("expand_ratio");
    model.efficientnet.depth_coefficient = settings.value("depth_coefficient", 0.0);
    model.efficientnet.proxy_norm = settings.value("proxy_norm", false);
    model.efficientnet.proxy_epsilon = settings.value("proxy_epsilon", 0.03);
    model.efficientnet.swish = !settings.value("use_relu", false);
    model.efficientnet.squeeze_excite = !settings.value("no_se", false);
    model.efficientnet.dropout_rate = 0;  // random numbers have no formula in common
    model.efficientnet.block_survival_prob = 1;
    request.input.images = {DType::f32, {settings.at("micro_batch"), model.image_size, model.image_size, 3}};
    request.label_smoothing = settings.at("label_smoothing");
    return request;
}

optim::UpdateSettings optimiser_settings(const json& settings, double loss_scaling) {
    optim::UpdateSettings optimiser;
    optimiser.momentum = settings.at("momentum");
    optimiser.rule = optimiser.momentum > 0 ? graph::UpdateRule::momentum : graph::UpdateRule::sgd;
    optimiser.mean_square_decay = settings.value("rmsprop_decay", 0.0);
    if (optimiser.mean_square_decay > 0) optimiser.rule = graph::UpdateRule::rmsprop;
    optimiser.weight_decay = settings.at("weight_decay");
    optimiser.weight_decay_exclude = settings.at("undecayed").get<std::vector<std::string>>();
    optimiser.loss_scaling = loss_scaling;
    optimiser.micro_batches = settings.at("micro_batches");
    optimiser.moving_average_decay = settings.at("bn_decay");
    return optimiser;
}

/// Forward, backward and update as training builds them.
Graph training_graph(const json& settings, double loss_scaling, const graph::RewriteLists& rewrites) {
    nn::Model model = nn::build_training(build_request(settings), ops::op_table());
    Graph forward = graph::apply_rewrites(std::move(model.graph), rewrites.training);
    graph::Objective objective;
    objective.loss = nn::model_values(forward).loss;
    objective.seed = loss_scaling / settings.at("micro_batch").get<double>();
    objective.targets = nn::model_values(forward).parameters;
    const graph::Gradients gradients = graph::build_backward(forward, objective);

    optim::append_update(forward, gradients, optimiser_settings(settings, loss_scaling));
    return graph::apply_rewrites(std::move(forward), rewrites.backward);
}

class GoldenSource : public test::TensorSource {
public:
    GoldenSource(std::int64_t samples, std::int64_t size)
        : TensorSource({{"images", HostTensor({DType::f32, {samples, size, size, 3}})},
                        {"labels", HostTensor({DType::i32, {samples}})}}),
          samples_(samples),
          size_(size) {}

private:
    void fill(std::int64_t batch) override {
        const Images images = make_images(batch, samples_, size_);
        std::ranges::copy(images.pixels, tensor(0).as<float>().begin());
        std::ranges::copy(images.labels, tensor(1).as<std::int32_t>().begin());
    }

    std::int64_t samples_;
    std::int64_t size_;
};

void load_variables(const Graph& graph, const json& choices, backend::Executable& executable) {
    for (const graph::ValueId id : nn::model_values(graph).parameters) {
        const std::string& name = graph.value(id).name;
        executable.load(name, initial_value(name, graph.desc(id).shape, choices.value(name, std::string())));
    }
    for (const graph::ValueId id : graph.variables()) {
        if (graph.value(id).role == graph::Role::parameter) continue;
        HostTensor start({DType::f32, graph.desc(id).shape});
        for (std::int64_t i = 0; i < start.elements(); ++i)
            start.set(i, graph.value(id).initialiser.value);
        executable.load(graph.value(id).name, start);
    }
}

// The gradient of a shift that the next batch norm removes is zero but for rounding. Its products reached 6.2e-7,
// depending on the order of sums (AVX2, AVX-512, oneDNN 2 and 3). With the tolerance of 1e-4, this allows 1e-6.
constexpr double kSmallestNorm = 1e-2;

/// Norm, products with sign patterns and some elements, each within `tolerance` times the norm: a pattern's product
/// moves by about the norm of the difference.
void expect_like_summary(const std::string& name, const HostTensor& tensor, double factor, const json& expected,
                         double tolerance) {
    ASSERT_EQ(tensor.shape(), expected.at("shape").get<Shape>()) << name;
    const auto products = expected.at("products").get<std::vector<double>>();
    const auto elements = expected.at("elements").get<std::vector<double>>();
    const double norm = expected.at("norm");
    const std::int64_t count = tensor.elements();
    const double allowed = tolerance * std::max(norm, kSmallestNorm);

    double squares = 0;
    for (std::int64_t i = 0; i < count; ++i)
        squares += std::pow(tensor.at(i) * factor, 2);
    EXPECT_NEAR(std::sqrt(squares), norm, allowed) << name << ": norm";
    for (std::size_t k = 0; k < products.size(); ++k) {
        const Stream pattern(name + "#" + std::to_string(k));
        double product = 0;
        for (std::int64_t i = 0; i < count; ++i)
            product += tensor.at(i) * factor * pattern.sign(i);
        EXPECT_NEAR(product, products[k], allowed) << name << ": product with pattern " << k;
    }
    const auto last = static_cast<std::int64_t>(elements.size()) - 1;
    for (std::int64_t k = 0; k <= last; ++k) {
        const std::int64_t at = k * (count - 1) / last;
        EXPECT_NEAR(tensor.at(at) * factor, elements[static_cast<std::size_t>(k)], allowed)
            << name << ": element " << at;
    }
}

}  // namespace

void compare_with_golden(const std::string& name, const backend::Backend& backend, const RunSettings& run) {
    const json golden = load_golden(name);
    const json& settings = golden.at("settings");
    const std::int64_t micro_batches = settings.at("micro_batches");
    const auto losses = golden.at("losses").get<std::vector<double>>();
    const Graph graph = training_graph(settings, run.loss_scaling, backend.rewrites());
    GoldenSource source(settings.at("micro_batch"), settings.at("image_size"));
    const auto executable = backend.compile({&graph, source.fields(), {.accumulation = micro_batches}});
    load_variables(graph, golden.at("beta_choices"), *executable);

    const std::size_t steps = std::min(losses.size(), run.most_steps);
    for (std::size_t step = 0; step < steps; ++step) {
        const backend::StepResult result = executable->train_step(
            source, {settings.at("learning_rate"), static_cast<std::int64_t>(step), run.loss_scaling});
        const double loss = result.sums.at(std::string(nn::kLoss)) / static_cast<double>(result.samples);
        EXPECT_NEAR(loss, losses[step], run.tolerances.loss * losses[step]) << name << ": loss of step " << step + 1;
        if (step > 0) continue;
        const double mean = 1 / (run.loss_scaling * static_cast<double>(micro_batches));
        for (const auto& [parameter, summary] : golden.at("gradients_of_step_1").items()) {
            expect_like_summary(parameter, executable->gradient(parameter), mean, summary, run.tolerances.gradient);
        }
    }
    if (steps < losses.size()) return;
    for (const char* group : {"moving_after_last_step", "parameters_after_last_step"}) {
        for (const auto& [variable, summary] : golden.at(group).items())
            expect_like_summary(variable, executable->store(variable), 1, summary, run.tolerances.variable);
    }
}

}  // namespace cnntrain::golden
