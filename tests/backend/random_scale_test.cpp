// Dropout and drop-connect: the same masks on every backend, in every layout, for every thread count; and what they
// depend on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cnntrain/backend/backends.h"
#include "support/bf16_products.h"
#include "support/op_cases.h"
#include "support/tensor_source.h"
#include "support/toy_graph.h"

namespace cnntrain::test {
namespace {

const Shape kShape = {6, 5, 3, 32};

struct Setting {
    std::uint64_t seed = 1;
    std::int64_t iteration = 0;
    std::uint64_t site = 0;
    bool per_sample = false;
    int threads = 0;
    std::int64_t micro_batches = 1;
};

/// Ones in a blocked or plain layout (after a convolution that is the identity) through random_scale of one half.
std::vector<double> masked_ones(const backend::Backend& backend, const Setting& run, bool after_convolution,
                                DType type = DType::f32) {
    ToyGraph toy(type);
    ValueId x = toy.parameter("x", kShape);
    if (after_convolution) x = toy.conv(x, kShape[3], "conv", {.width = 1});
    const graph::RandomScaleAttrs attrs{.keep = 0.5, .per_sample = run.per_sample, .site = run.site};
    toy.graph.mark_output("y", toy.graph.add_one(OpKind::random_scale, attrs, {x}, "drop"));
    const auto executable = backend.compile({.graph = &toy.graph,
                                             .plan = {.accumulation = run.micro_batches},
                                             .cpu = {.threads = run.threads},
                                             .runtime = {.seed = run.seed}});
    HostTensor ones({type, kShape});
    for (std::int64_t i = 0; i < ones.elements(); ++i)
        ones.set(i, 1);
    executable->load("x", ones);
    if (after_convolution) {
        HostTensor identity({type, {1, 1, kShape[3], kShape[3]}});
        for (std::int64_t i = 0; i < kShape[3]; ++i)
            identity.set(i * kShape[3] + i, 1);
        executable->load("conv/weight", identity);
    }
    TensorSource source({});
    executable->train_step(source, {0.1, run.iteration});
    const HostTensor y = executable->output("y");
    std::vector<double> values;
    for (std::int64_t i = 0; i < y.elements(); ++i)
        values.push_back(y.at(i));
    return values;
}

TEST(RandomScale, MasksAreThoseOfRefInEveryLayoutAndForEveryThreadCount) {
    const auto ref = backend::make_ref_backend();
    const auto cpu = backend::make_cpu_backend();
    for (const bool per_sample : {false, true}) {
        for (const std::int64_t iteration : {std::int64_t{0}, std::int64_t{7}, std::int64_t{1} << 40}) {
            Setting run{.seed = 42, .iteration = iteration, .per_sample = per_sample};
            const std::vector<double> want = masked_ones(*ref, run, false);
            for (const int threads : {1, 2}) {
                run.threads = threads;
                EXPECT_EQ(masked_ones(*cpu, run, false), want);
                EXPECT_EQ(masked_ones(*cpu, run, true), want);
                if (!has_bf16_products()) continue;
                EXPECT_EQ(masked_ones(*cpu, run, true, DType::bf16), want);
            }
        }
    }
}

TEST(RandomScale, MasksDependOnSeedIterationMicroBatchAndSite) {
    for (const auto& backend : {backend::make_ref_backend(), backend::make_cpu_backend()}) {
        const std::vector<double> first = masked_ones(*backend, {}, false);
        EXPECT_EQ(masked_ones(*backend, {}, false), first);
        EXPECT_NE(masked_ones(*backend, {.seed = 2}, false), first);
        EXPECT_NE(masked_ones(*backend, {.iteration = 1}, false), first);
        EXPECT_NE(masked_ones(*backend, {.site = 1}, false), first);
        EXPECT_NE(masked_ones(*backend, {.micro_batches = 2}, false), first) << "the last micro-batch's output";
    }
}

/// Returns the first eight samples' results of ones through dropout, fed in micro-batches of `micro_batch` samples.
std::vector<double> first_eight(const backend::Backend& backend, std::int64_t micro_batch, bool per_sample) {
    const TensorDesc desc{DType::f32, {micro_batch, 3, 2, 16}};
    ToyGraph toy;
    const graph::RandomScaleAttrs attrs{.keep = 0.5, .per_sample = per_sample, .site = 9};
    const ValueId x = toy.input("x", desc.shape);
    toy.graph.mark_output("y", toy.graph.add_one(OpKind::random_scale, attrs, {x}, "drop"));
    HostTensor ones(desc);
    for (std::int64_t i = 0; i < ones.elements(); ++i)
        ones.set(i, 1);
    TensorSource source({{"x", ones}});
    const auto executable = backend.compile({&toy.graph, source.fields()});
    std::vector<double> values;
    for (std::int64_t done = 0; done < 8; done += micro_batch) {
        executable->train_step(source, {.learning_rate = 0.1, .iteration = done});
        const HostTensor y = executable->output("y");
        for (std::int64_t i = 0; i < y.elements(); ++i)
            values.push_back(y.at(i));
    }
    return values;
}

TEST(RandomScale, WhatIsDroppedOfASampleDoesNotDependOnTheMicroBatch) {
    for (const auto& backend : {backend::make_ref_backend(), backend::make_cpu_backend()}) {
        for (const bool per_sample : {false, true}) {
            const std::vector<double> whole = first_eight(*backend, 8, per_sample);
            EXPECT_EQ(first_eight(*backend, 4, per_sample), whole);
            EXPECT_EQ(first_eight(*backend, 1, per_sample), whole);
        }
    }
}

TEST(RandomScale, KeepsTheShareThatWasAskedForAndScalesIt) {
    const auto ref = backend::make_ref_backend();
    std::int64_t kept = 0;
    std::int64_t all = 0;
    for (std::int64_t iteration = 0; iteration < 10; ++iteration) {
        for (const double value : masked_ones(*ref, {.iteration = 100 * iteration}, false)) {
            EXPECT_TRUE(value == 0 || value == 2) << value;
            kept += value != 0 ? 1 : 0;
            ++all;
        }
    }
    EXPECT_NEAR(static_cast<double>(kept) / static_cast<double>(all), 0.5, 0.01);  // six standard deviations: 0.018
}

TEST(RandomScale, DropsWholeSamples) {
    const auto cpu = backend::make_cpu_backend();
    const std::int64_t sample = element_count(kShape) / kShape[0];
    int dropped = 0;
    for (std::int64_t iteration = 0; iteration < 8; ++iteration) {
        const std::vector<double> values = masked_ones(*cpu, {.iteration = 100 * iteration, .per_sample = true}, true);
        for (std::int64_t i = 0; i < element_count(kShape); ++i) {
            EXPECT_EQ(values[static_cast<std::size_t>(i)], values[static_cast<std::size_t>(i / sample * sample)]);
        }
        for (std::int64_t n = 0; n < kShape[0]; ++n)
            dropped += values[static_cast<std::size_t>(n * sample)] == 0 ? 1 : 0;
    }
    EXPECT_GT(dropped, 10);  // of 48
    EXPECT_LT(dropped, 38);
}

std::map<std::string, std::vector<double>> values_of(const std::map<std::string, HostTensor>& tensors) {
    std::map<std::string, std::vector<double>> result;
    for (const auto& [name, tensor] : tensors) {
        for (std::int64_t i = 0; i < tensor.elements(); ++i)
            result[name].push_back(tensor.at(i));
    }
    return result;
}

/// The CPU backend's own kernels give the very same f32 numbers for every thread count.
TEST(Threads, DoNotChangeResults) {
    const auto cpu = backend::make_cpu_backend();
    int compared = 0;
    for (const OpCase& op_case : op_cases()) {
        const bool own_kernel = op_case.kind == OpKind::activation || op_case.kind == OpKind::scale_channels ||
                                op_case.kind == OpKind::random_scale || op_case.kind == OpKind::quantised_dense ||
                                op_case.name.find("/swish") != std::string::npos ||
                                op_case.name.find("depthwise") != std::string::npos;
        if (!own_kernel || !op_case.name.ends_with("/f32")) continue;
        EXPECT_EQ(values_of(evaluate_on(*cpu, op_case, has_gradient(op_case), 1)),
                  values_of(evaluate_on(*cpu, op_case, has_gradient(op_case), 2)))
            << op_case.name;
        ++compared;
    }
    EXPECT_GE(compared, 20);
}

}  // namespace
}  // namespace cnntrain::test
