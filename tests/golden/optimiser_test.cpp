// Every optimiser and every learning-rate schedule against tools/golden/make_optimiser_golden.py.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cnntrain/backend/backends.h"
#include "cnntrain/graph/optimiser.h"
#include "cnntrain/graph/passes.h"
#include "cnntrain/options/settings.h"
#include "golden/formula.h"
#include "support/tensor_source.h"
#include "support/toy_graph.h"

namespace cnntrain::golden {
namespace {

using graph::ValueId;
using nlohmann::json;

constexpr std::int64_t kSamples = 8;
constexpr std::int64_t kInputs = 12;
constexpr std::int64_t kHidden = 16;
constexpr std::int64_t kClasses = 5;
constexpr std::int64_t kSteps = 10;
constexpr double kLossScaling = 128;

const json& golden() {
    static const json document = [] {
        std::ifstream file(CNNTRAIN_SOURCE_DIR "/tests/golden/optimisers.json");
        return json::parse(file);
    }();
    return document;
}

graph::Graph toy(const optim::UpdateSettings& settings) {
    test::ToyGraph net;
    const ValueId images = net.input("images", {kSamples, 1, 1, kInputs});
    const ValueId hidden = net.activation(net.dense(net.average_pool(images), kHidden, "all/fc0"), "relu");
    graph::Objective objective;
    objective.loss = net.cross_entropy(net.dense(hidden, kClasses, "all/fc1"));
    objective.seed = kLossScaling / static_cast<double>(kSamples);
    objective.targets = net.parameters();
    const graph::Gradients gradients = graph::build_backward(net.graph, objective);
    optim::append_update(net.graph, gradients, settings);
    return net.graph;
}

class ToySource : public test::TensorSource {
public:
    ToySource()
        : TensorSource({{"images", HostTensor({DType::f32, {kSamples, 1, 1, kInputs}})},
                        {"labels", HostTensor({DType::i32, {kSamples}})}}) {}

private:
    void fill(std::int64_t batch) override {
        const Stream stream("toy/" + std::to_string(batch));
        for (std::int64_t i = 0; i < kSamples * kInputs; ++i)
            tensor(0).set(i, stream.noise(i));
        for (std::int64_t i = 0; i < kSamples; ++i)
            tensor(1).set(i, static_cast<double>((i * 3 + batch) % kClasses));
    }
};

HostTensor start(const graph::Value& variable) {
    HostTensor tensor({variable.desc.dtype, variable.desc.shape});
    const Stream stream(variable.name);
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        const bool parameter = variable.role == graph::Role::parameter;
        tensor.set(
            i, parameter ? 0.5 * static_cast<double>(static_cast<float>(stream.noise(i))) : variable.initialiser.value);
    }
    return tensor;
}

template <typename Rate> void compare(const backend::Backend& backend, const std::string& name,
                                      const optim::UpdateSettings& settings, const Rate& rate, double tolerance) {
    const json& expected = golden().at(name);
    const graph::Graph graph = toy(settings);
    ToySource source;
    const auto executable = backend.compile({&graph, source.fields()});
    for (const ValueId id : graph.variables())
        executable->load(graph.value(id).name, start(graph.value(id)));
    for (std::int64_t step = 0; step < kSteps; ++step) {
        const auto result = executable->train_step(source, {rate(step), step, settings.loss_scaling});
        const double loss = expected.at("losses").at(static_cast<std::size_t>(step));
        EXPECT_NEAR(result.sums.at("loss") / static_cast<double>(kSamples), loss, tolerance * loss)
            << name << " on " << backend.name() << ", step " << step + 1;
    }
    for (const auto& item : expected.at("norms").items()) {
        const double norm = item.value();
        const HostTensor tensor = executable->store(item.key());
        double squares = 0;
        for (std::int64_t i = 0; i < tensor.elements(); ++i)
            squares += tensor.at(i) * tensor.at(i);
        EXPECT_NEAR(std::sqrt(squares), norm, 1e-5 * norm) << name << ": " << item.key();
    }
}

template <typename Rate>
void compare_on_both(const std::string& name, const optim::UpdateSettings& settings, const Rate& rate) {
    compare(*backend::make_ref_backend(), name, settings, rate, 1e-9);
    compare(*backend::make_cpu_backend(), name, settings, rate, 1e-5);
}

optim::UpdateSettings settings_of(graph::UpdateRule rule) {
    optim::UpdateSettings settings;
    settings.rule = rule;
    settings.momentum = 0.9;
    settings.weight_decay = 1e-3;
    settings.loss_scaling = kLossScaling;
    settings.mean_square_decay = 0.9;
    settings.rmsprop_epsilon = 1e-3;
    settings.lars = {0.05, 5e-3, 1e-6, {"bias"}};
    return settings;
}

TEST(GoldenOptimiser, TenStepsOfEach) {
    for (const auto rule :
         {graph::UpdateRule::sgd, graph::UpdateRule::momentum, graph::UpdateRule::rmsprop, graph::UpdateRule::lars,
          graph::UpdateRule::adamw, graph::UpdateRule::lamb, graph::UpdateRule::nesterov}) {
        const std::string name = "optimiser/" + std::string(spelling(rule));
        compare_on_both(name, settings_of(rule), [](std::int64_t) { return 0.1; });
    }
}

TEST(GoldenSchedule, TenStepsOfEach) {
    optim::LearningRateSettings rates;
    rates.warmup_epochs = 1;
    rates.stepped_decay = 0.1;
    rates.stepped_fractions = {0.4, 0.7};
    rates.exponential_decay_rate = 0.8;
    rates.exponential_drops = 4;
    rates.polynomial_power = 2;
    rates.polynomial_end_ratio = 0.01;
    rates.warmup_iterations = 2;
    rates.warmup_start = 0.1;
    using enum optim::LrSchedule;
    for (const auto& [schedule, name] : {std::pair{stepped, "stepped"},
                                         {cosine, "cosine"},
                                         {exponential, "exponential"},
                                         {polynomial, "polynomial"},
                                         {gradual, "gradual"}}) {
        rates.schedule = schedule;
        const optim::LearningRate rate(rates, 0.5, kSteps, 5);
        const std::string key = std::string("schedule/") + name;
        for (std::int64_t t = 0; t < kSteps; ++t)
            EXPECT_NEAR(rate.at(t), golden().at(key).at("rates").at(static_cast<std::size_t>(t)).get<double>(), 1e-12);
        compare_on_both(key, settings_of(graph::UpdateRule::momentum), [&](std::int64_t t) { return rate.at(t); });
    }
}

}  // namespace
}  // namespace cnntrain::golden
