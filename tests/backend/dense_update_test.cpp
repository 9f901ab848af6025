// Updates of weights, of which bfloat16 products read copies: what the CPU backend computes on the way while it
// multiplies and updates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cnntrain/backend/backends.h"
#include "support/bf16_products.h"
#include "support/op_cases.h"
#include "support/toy_graph.h"

namespace cnntrain::test {
namespace {

using backend::Executable;

// All three products of each layer are as large as products by tiles, and have different numbers of blocks. With so
// many rows, oneDNN would read a copy of the first weight.
constexpr std::int64_t kRows = 512;
constexpr std::int64_t kInputs = 160;
constexpr std::int64_t kHidden = 192;
constexpr std::int64_t kClasses = 128;
constexpr graph::GradientFactorAttrs kFactor{.gradient_scale = 0.5, .limit = 0.01};
constexpr graph::UpdateAttrs kUpdate{
    .rule = graph::UpdateRule::momentum, .gradient_scale = 0.5, .learning_rate_scale = 1, .momentum = 0.9};

/// Two dense layers, the second with a transposed weight and no bias; momentum, with a limit for the gradients' norm.
struct DenseNet : ToyGraph {
    /// Layers of f32, or of the type with which the processor is fastest.
    explicit DenseNet(bool is_fastest)
        : type(is_fastest ? backend::make_cpu_backend()->fastest_arithmetic().type : DType::f32) {
        const ValueId x = input("x", {kRows, kInputs});
        const ValueId hidden = graph.add_one(
            OpKind::dense, graph::DenseAttrs{},
            {computed(x), weight("first/weight", {kInputs, kHidden}), weight("first/bias", {kHidden})}, "first");
        const ValueId logits =
            graph.add_one(OpKind::dense, graph::DenseAttrs{.bias = false, .transposed = true},
                          {activation(hidden, "relu"), weight("second/weight", {kClasses, kHidden})}, "second");
        add_update(differentiate(cross_entropy(logits)));
    }

    DType type;

private:
    ValueId computed(ValueId value) {
        return type == DType::f32 ? value : cast(value, type, graph.value(value).name + "/cast");
    }
    ValueId weight(const std::string& name, const Shape& shape) { return computed(parameter(name, shape)); }
    void add_update(const graph::Gradients& gradients) {
        const auto [rate, step, scaling] = begin_update();
        std::vector<ValueId> all = {scaling};
        for (const ValueId p : parameters())
            all.push_back(gradients.of.at(p));
        const ValueId factor = graph.add_one(OpKind::gradient_factor, kFactor, all, "gradient_factor");
        for (const ValueId p : parameters()) {
            const std::string name = graph.value(p).name;
            const ValueId velocity = graph.add_slot(p, name + "/velocity", graph.desc(p), {});
            graph.add(OpKind::scaled_update, kUpdate, {p, gradients.of.at(p), rate, step, scaling, factor, velocity},
                      name + "/update");
        }
    }
};

/// The same micro-batch for ever: pipelines read it at the same time.
TensorSource batches() {
    return TensorSource({{"x", random_tensor({DType::f32, {kRows, kInputs}}, 100, -1, 1)},
                         {"labels", random_tensor({DType::i32, {kRows}}, 101, 0, kClasses - 1)}});
}

/// Micro-batches of an update, and the lanes that execute them, each by a pipeline of its own.
struct Division {
    std::int64_t micro_batches = 1;
    int lanes = 1;
};

std::unique_ptr<Executable> compile(const Graph& graph, const Division& division) {
    backend::CompileRequest request;
    request.graph = &graph;
    request.plan.accumulation = division.micro_batches;
    request.cpu.lanes = division.lanes;
    if (division.lanes > 1) request.cpu.threads = division.lanes;
    request.fields = batches().fields();
    return backend::make_cpu_backend()->compile(request);
}

using Variables = std::map<std::string, HostTensor>;

Variables variables_of(const Executable& executable) {
    return executable.store(executable.variable_names());
}

void load(Executable& executable, const Variables& variables) {
    executable.load(variables);
}

Variables random_variables(const Executable& executable) {
    Variables variables = variables_of(executable);
    std::uint64_t index = 0;
    for (auto& [name, tensor] : variables)
        tensor = random_tensor(tensor.desc(), index++, -0.2, 0.2);
    return variables;
}

const Division kPlans[] = {{}, {.micro_batches = 3}, {.micro_batches = 4, .lanes = 2}};

using DenseUpdateParam = std::tuple<Division, bool>;

std::string name_of(const testing::TestParamInfo<DenseUpdateParam>& test) {
    const Division& plan = std::get<0>(test.param);
    return std::to_string(plan.micro_batches) + "_micro_batches_" + std::to_string(plan.lanes) + "_pipelines_" +
           (std::get<1>(test.param) ? "fastest" : "f32");
}

class DenseUpdate : public testing::TestWithParam<DenseUpdateParam> {
protected:
    const Division& plan() const { return std::get<0>(GetParam()); }

    const DenseNet net{std::get<1>(GetParam())};
};
INSTANTIATE_TEST_SUITE_P(Plans, DenseUpdate, testing::Combine(testing::ValuesIn(kPlans), testing::Bool()), name_of);

TEST_P(DenseUpdate, IsScaledByTheNormOfAllGradients) {
    const auto executable = compile(net.graph, plan());
    const Variables before = random_variables(*executable);
    load(*executable, before);
    TensorSource source = batches();
    constexpr double kRate = 0.5;
    executable->train_step(source, {.learning_rate = kRate, .iteration = 0});
    double squares = 0;
    Variables gradients;
    for (const ValueId p : net.graph.values_with_role(graph::Role::parameter)) {
        const std::string& name = net.graph.value(p).name;
        gradients[name] = executable->gradient(name);
        for (std::int64_t i = 0; i < gradients[name].elements(); ++i)
            squares += gradients[name].at(i) * gradients[name].at(i);
    }
    const double factor = graph::gradient_factor(kFactor, squares);
    ASSERT_LT(factor, 0.5) << "the limit must count";
    for (const auto& [name, gradient] : gradients) {
        const HostTensor after = executable->store(name);
        const HostTensor& velocity = before.at(name + "/velocity");
        for (std::int64_t i = 0; i < after.elements(); ++i) {
            const double change = kUpdate.momentum * velocity.at(i) + kUpdate.gradient_scale * factor * gradient.at(i);
            ASSERT_NEAR(after.at(i), before.at(name).at(i) - kRate * change, 1e-6) << name << "[" << i << "]";
        }
    }
}

/// An update leaves the same state for the next step as loading the same variables does.
TEST_P(DenseUpdate, GoesOnAsFromItsLoadedVariables) {
    const auto going_on = compile(net.graph, plan());
    const auto loaded = compile(net.graph, plan());
    load(*going_on, random_variables(*going_on));
    TensorSource source = batches();
    TensorSource same_source = batches();
    for (std::int64_t iteration = 0; iteration < 3; ++iteration) {
        load(*loaded, variables_of(*going_on));
        const backend::StepScalars scalars{.learning_rate = 0.5, .iteration = iteration};
        const double loss = going_on->train_step(source, scalars).sums.at("loss");
        EXPECT_EQ(loaded->train_step(same_source, scalars).sums.at("loss"), loss) << iteration;
        const Variables want = variables_of(*going_on);
        for (const auto& [name, tensor] : variables_of(*loaded))
            EXPECT_TRUE(std::ranges::equal(tensor.bytes(), want.at(name).bytes())) << name << " of " << iteration;
    }
}

TEST(DenseOfFloats, KeepsNoCopies) {
    if (!cpu::effective_isa().avx512_bf16) GTEST_SKIP() << "own products of floats are not faster here";
    const DenseNet net(false);
    EXPECT_EQ(compile(net.graph, {})->report().reorders, std::vector<std::string>{});
}

/// Variables that were loaded count, not what the last update made.
TEST(DenseLoad, ReplacesWhatTheUpdateMade) {
    const DenseNet net(true);
    const auto executable = compile(net.graph, {});
    const Variables start = random_variables(*executable);
    const auto first_loss = [&] {
        load(*executable, start);
        TensorSource source = batches();
        return executable->train_step(source, {.learning_rate = 0.5, .iteration = 0}).sums.at("loss");
    };
    const double loss = first_loss();
    EXPECT_EQ(first_loss(), loss);
}

}  // namespace
}  // namespace cnntrain::test
