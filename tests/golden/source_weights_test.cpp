// Networks of torchvision and timm, with weights that those programs had, too: do they answer the same?
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cnntrain/backend/backends.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/graph/passes.h"
#include "golden/formula.h"
#include "support/tensor_source.h"

namespace cnntrain::golden {
namespace {

using nlohmann::json;

constexpr double kTolerance = 1e-4;
constexpr std::int64_t kSide = 64;

/// Returns the values of value() in the generator.
HostTensor their_value(const std::string& name, const Shape& shape) {
    HostTensor tensor({DType::f32, shape});
    const Stream stream(name);
    double shift = 0;
    double scale = 0;
    if (name.ends_with("running_var")) {
        shift = 1;
        scale = 0.5;
    } else if (name.ends_with("running_mean") || name.ends_with("bias")) {
        scale = 0.2;
    } else if (shape.size() == 1) {
        shift = 0.8;
        scale = 0.2;
    } else {
        scale = std::sqrt(3.0 * static_cast<double>(shape[0]) / static_cast<double>(tensor.elements()));
    }
    const auto values = tensor.as<float>();
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(shift + scale * stream.noise(static_cast<std::int64_t>(i)));
    return tensor;
}

test::TensorSource images(std::int64_t count) {
    HostTensor pixels({DType::f32, {count, kSide, kSide, 3}});
    const Stream stream("images");
    const auto values = pixels.as<float>();
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(stream.noise(static_cast<std::int64_t>(i)));
    return test::TensorSource(
        {{std::string(nn::kImages), std::move(pixels)}, {std::string(nn::kLabels), HostTensor({DType::i32, {count}})}});
}

struct Source {
    std::map<std::string, HostTensor> tensors;
    nn::TensorDescs descs;
};

Source source_of(const json& golden) {
    Source source;
    for (const auto& [name, shape] : golden.at("tensors").items()) {
        source.tensors.emplace(name, their_value(name, shape.get<Shape>()));
        source.descs.emplace(name, TensorDesc{DType::f32, shape.get<Shape>()});
    }
    source.descs.emplace("bn1.num_batches_tracked", TensorDesc{DType::i64, {}});
    source.tensors.emplace("bn1.num_batches_tracked", HostTensor({DType::i64, {}}));
    return source;
}

graph::Graph network(const nn::NetworkSettings& settings, std::int64_t samples, const backend::Backend& backend) {
    nn::BuildRequest request;
    request.model = settings;
    request.model.image_size = kSide;
    request.input.images = {DType::f32, {samples, kSide, kSide, 3}};
    nn::Model model = nn::build_evaluation(request, ops::op_table());
    model.graph.mark_output("logits", model.values.logits);
    return graph::apply_rewrites(std::move(model.graph), backend.rewrites().evaluation);
}

void expect_their_logits(const json& golden, const backend::Backend& backend) {
    const std::string name = golden.at("name");
    Source source = source_of(golden);
    const auto told = nn::source_network(source.descs, golden.at("architecture").get<std::string>());
    ASSERT_TRUE(told.has_value()) << name;
    EXPECT_DOUBLE_EQ(told->settings.epsilon, golden.at("epsilon").get<double>()) << name;
    EXPECT_EQ(told->settings.padding == nn::PaddingRule::same, golden.at("same_padding").get<bool>()) << name;
    const json& expected = golden.at("logits");
    ASSERT_EQ(told->settings.classes, std::ssize(expected.at(0))) << name;

    const auto samples = static_cast<std::int64_t>(expected.size());
    const graph::Graph graph = network(told->settings, samples, backend);
    nn::TensorDescs own;
    for (const graph::ValueId id : graph.variables())
        own.emplace(graph.value(id).name, graph.desc(id));
    test::TensorSource batch = images(samples);
    const auto executable = backend.compile({&graph, batch.fields(), {}});
    for (const auto& [variable, tensor] : nn::in_own_layout(std::move(source.tensors), own))
        executable->load(variable, tensor);
    executable->evaluate(batch, 1);
    const HostTensor logits = executable->output("logits");
    std::int64_t at = 0;
    for (const json& row : expected) {
        for (const json& logit : row) {
            EXPECT_NEAR(logits.at(at), logit.get<double>(), kTolerance) << name << ", logit " << at;
            ++at;
        }
    }
}

json golden_networks() {
    std::ifstream file(CNNTRAIN_SOURCE_DIR "/tests/golden/source_weights.json");
    return json::parse(file);
}

TEST(GoldenSourceWeights, LogitsAreThoseOfTorchvisionAndTimm) {
    const auto cpu = backend::make_cpu_backend();
    for (const json& golden : golden_networks())
        expect_their_logits(golden, *cpu);
}

}  // namespace
}  // namespace cnntrain::golden
