// Mixup and cutmix with fixed coefficients, and images with several labels; the generator is
// tools/golden/make_mixing_golden.py.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cnntrain/backend/backends.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/graph/optimiser.h"
#include "cnntrain/graph/passes.h"
#include "golden/formula.h"
#include "support/tensor_source.h"

namespace cnntrain::golden {
namespace {

using graph::Graph;
using graph::OpKind;
using graph::ValueId;
using nlohmann::json;

constexpr std::int64_t kSize = 32;
constexpr std::int64_t kClasses = 10;

const json& golden() {
    static const json document =
        json::parse(std::ifstream(std::string(CNNTRAIN_SOURCE_DIR) + "/tests/golden/mixing.json"));
    return document;
}

nn::MixingSettings settings_of(const json& run) {
    nn::MixingSettings settings;
    if (run.at("mixup")) settings.mixup_alpha = 1;
    if (run.at("cutmix")) settings.cutmix_lambda = 0.5;
    return settings;
}

/// Images and labels by their formulas, coefficients from the file.
class MixedSource : public test::TensorSource {
public:
    explicit MixedSource(const json& run) : TensorSource(tensors_of(run)), run_(run), samples_(run.at("samples")) {}

private:
    static std::vector<std::pair<std::string, HostTensor>> tensors_of(const json& run) {
        const std::int64_t samples = run.at("samples");
        std::vector<std::pair<std::string, HostTensor>> tensors = {
            {"images", HostTensor({DType::f32, {samples, kSize, kSize, 3}})},
            {"labels", HostTensor({DType::i32, {samples}})}};
        for (const data::Field& field : data::mixing_fields(settings_of(run), samples))
            tensors.emplace_back(field.name, HostTensor(field.desc));
        return tensors;
    }

    void fill(std::int64_t batch) override {
        const auto index = static_cast<std::size_t>(batch);
        const Images images = make_images(batch, samples_, kSize);
        std::ranges::copy(images.pixels, tensor(0).as<float>().begin());
        std::ranges::copy(images.labels, tensor(1).as<std::int32_t>().begin());
        std::size_t next = 2;
        std::vector<float> own;
        if (run_.at("mixup")) {
            own = run_.at("own").at(index).get<std::vector<float>>();
            std::ranges::copy(own, tensor(next++).as<float>().begin());
        }
        std::optional<double> outside;
        if (run_.at("cutmix")) {
            const auto box = run_.at("boxes").at(index).get<data::Box4>();
            std::ranges::copy(box, tensor(next++).as<std::int32_t>().begin());
            outside = data::share_outside(box, kSize, kSize);
        }
        data::fill_target_shares(own, outside, tensor(next).as<float>());
    }

    const json& run_;
    std::int64_t samples_;
};

/// Images by their formula; labels as the generator has them.
class SeveralLabels : public test::TensorSource {
public:
    explicit SeveralLabels(std::int64_t samples)
        : TensorSource({{"images", HostTensor({DType::f32, {samples, kSize, kSize, 3}})},
                        {"labels", HostTensor({DType::i32, {samples, kClasses}})}}),
          samples_(samples) {}

private:
    void fill(std::int64_t batch) override {
        const Images images = make_images(batch, samples_, kSize);
        std::ranges::copy(images.pixels, tensor(0).as<float>().begin());
        const auto labels = tensor(1).as<std::int32_t>();
        for (std::int64_t i = 0; i < samples_ * kClasses; ++i) {
            const std::int64_t n = i / kClasses;
            const std::int64_t c = i % kClasses;
            const bool is_own = images.labels[static_cast<std::size_t>(n)] == c;
            labels[static_cast<std::size_t>(i)] = is_own || (n + c) % 3 == 0 ? 1 : 0;
        }
    }

    std::int64_t samples_;
};

Graph training_graph(const json& run, const graph::RewriteLists& rewrites) {
    nn::BuildRequest request;
    request.model.size = "8";
    request.model.form = nn::NetworkForm::small_images;
    request.model.classes = kClasses;
    request.model.image_size = kSize;
    request.model.norm = nn::NormKind::group;
    request.model.groups = 16;
    const std::int64_t samples = run.at("samples");
    request.input.images = {DType::f32, {samples, kSize, kSize, 3}};
    if (run.contains("focus")) {
        request.labels = nn::LabelKind::several;
        request.class_weights = run.at("positive_weights").get<std::vector<double>>();
        request.focus = run.at("focus");
    } else {
        request.label_smoothing = golden().at("settings").at("label_smoothing");
        request.mixing = settings_of(run);
    }
    Graph graph = graph::apply_rewrites(nn::build_training(request, ops::op_table()).graph, rewrites.training);
    const nn::ModelValues values = nn::model_values(graph);
    graph::Objective objective;
    objective.loss = values.loss;
    objective.seed = 1.0 / static_cast<double>(samples);
    objective.targets = values.parameters;
    const graph::Gradients gradients = graph::build_backward(graph, objective);
    optim::append_update(graph, gradients, {});
    return graph::apply_rewrites(std::move(graph), rewrites.backward);
}

void expect_golden_losses(const backend::Backend& backend, std::size_t steps, double tolerance) {
    std::vector<json> runs = golden().at("runs");
    for (const json& run : golden().at("several"))
        runs.push_back(run);
    for (const json& run : runs) {
        const Graph graph = training_graph(run, backend.rewrites());
        std::unique_ptr<test::TensorSource> batches;
        if (run.contains("focus")) {
            batches = std::make_unique<SeveralLabels>(run.at("samples"));
        } else {
            batches = std::make_unique<MixedSource>(run);
        }
        test::TensorSource& source = *batches;
        const auto executable = backend.compile({&graph, source.fields()});
        for (const ValueId id : graph.values_with_role(graph::Role::parameter)) {
            const std::string& name = graph.value(id).name;
            executable->load(name, initial_value(name, graph.desc(id).shape, ""));
        }
        const auto losses = run.at("losses").get<std::vector<double>>();
        ASSERT_EQ(losses.size(), 10U);
        for (std::size_t step = 0; step < steps; ++step) {
            const backend::StepResult result = executable->train_step(
                source, {golden().at("settings").at("learning_rate"), static_cast<std::int64_t>(step)});
            const double loss = result.sums.at(std::string(nn::kLoss)) / static_cast<double>(result.samples);
            EXPECT_NEAR(loss, losses[step], tolerance * losses[step])
                << run.at("samples") << " samples, "
                << (run.contains("focus") ? "focus " + run.at("focus").dump()
                                          : "mixup " + run.at("mixup").dump() + ", cutmix " + run.at("cutmix").dump())
                << ", step " << step + 1;
        }
    }
}

TEST(GoldenMixing, TwoStepsOnRef) {
    expect_golden_losses(*backend::make_ref_backend(), 2, 2e-6);  // the shares are float32
}

TEST(GoldenMixing, TenStepsOnCpu) {
    // Processors and versions of oneDNN sum in other blocks; ten steps make more of the difference.
    expect_golden_losses(*backend::make_cpu_backend(), 4, 5e-5);
    expect_golden_losses(*backend::make_cpu_backend(), 10, 5e-4);
}

/// The two ops alone: mixed images, and the loss and gradient of given logits.
Graph ops_graph(const json& run) {
    Graph graph(ops::op_table());
    const nn::MixingSettings mixing = settings_of(run);
    const std::int64_t samples = run.at("samples");
    std::vector<ValueId> inputs = {graph.add_input("images", {DType::f32, {samples, kSize, kSize, 3}})};
    const ValueId labels = graph.add_input("labels", {DType::i32, {samples}});
    if (mixing.mixup()) inputs.push_back(graph.add_input("mixup", {DType::f32, {samples}}));
    if (mixing.cutmix()) inputs.push_back(graph.add_input("cutmix_box", {DType::i32, {4}}));
    const graph::MixImagesAttrs image_attrs{mixing.mixup(), mixing.cutmix() ? nn::cutmix_distance(samples) : 0};
    graph.mark_output("mixed", graph.add_one(OpKind::mix_images, image_attrs, inputs, "mixed"));

    const std::vector<std::int64_t> distances = nn::target_distances(mixing, samples);
    const auto partners = static_cast<std::int64_t>(distances.size());
    const ValueId shares = graph.add_input("target_shares", {DType::f32, {samples, partners}});
    const ValueId logits = graph.add_parameter("logits", {DType::f32, {samples, kClasses}}, {});
    const graph::MixedTargetsAttrs attrs{golden().at("settings").at("label_smoothing"), distances};
    const ValueId loss = graph.add(OpKind::mixed_cross_entropy, attrs, {logits, labels, shares}, "loss")[0];
    graph.mark_output("loss", loss);
    graph.mark_output(
        "dlogits",
        graph::build_backward(graph, {.loss = loss, .targets = {logits}, .recompute_points = {}}).of.at(logits));
    return graph;
}

void expect_golden_ops(const backend::Backend& backend) {
    for (const json& run : golden().at("runs")) {
        const Graph graph = ops_graph(run);
        MixedSource source(run);
        const auto executable = backend.compile({&graph, source.fields()});
        HostTensor logits({DType::f32, {run.at("samples"), kClasses}});
        const Stream stream("logits");
        for (std::int64_t i = 0; i < logits.elements(); ++i)
            logits.set(i, 4 * stream.noise(i));
        executable->load("logits", logits);
        const backend::StepResult result = executable->train_step(source, {});
        const double loss = run.at("loss_of_logits");
        EXPECT_NEAR(result.sums.at("loss"), loss, 1e-6 * loss);

        const HostTensor gradient = executable->output("dlogits");
        const auto wanted = run.at("dlogits").get<std::vector<double>>();
        ASSERT_EQ(gradient.elements(), static_cast<std::int64_t>(wanted.size()));
        for (std::int64_t i = 0; i < gradient.elements(); ++i)
            EXPECT_NEAR(gradient.at(i), wanted[static_cast<std::size_t>(i)], 1e-6) << i;

        const HostTensor mixed = executable->output("mixed");
        const auto products = run.at("image_products").get<std::vector<double>>();
        for (std::size_t p = 0; p < products.size(); ++p) {
            const Stream pattern("mixed#" + std::to_string(p));
            double product = 0;
            double squares = 0;
            for (std::int64_t i = 0; i < mixed.elements(); ++i) {
                product += mixed.at(i) * pattern.sign(i);
                squares += mixed.at(i) * mixed.at(i);
            }
            EXPECT_NEAR(product, products[p], 1e-6 * std::sqrt(squares));
        }
    }
}

TEST(GoldenMixing, OpsOnRef) {
    expect_golden_ops(*backend::make_ref_backend());
}

TEST(GoldenMixing, OpsOnCpu) {
    expect_golden_ops(*backend::make_cpu_backend());
}

}  // namespace
}  // namespace cnntrain::golden
