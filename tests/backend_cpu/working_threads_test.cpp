// Threads that give way to other programs, and primitives that are planned again for fewer threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/cpu/onednn.h"
#include "backend/cpu/run/lanes.h"
#include "cnntrain/base/rng.h"

namespace cnntrain::cpu {
namespace {

constexpr Competition kQuiet{};
constexpr Competition kOne{.others = 0.7, .queued_share = 0.3};
constexpr Competition kIdle{.others = 0.9, .queued_share = 0.05};  // it takes only what is left

TEST(WorkingThreads, LeaveAProcessorToEachOtherProgram) {
    EXPECT_EQ(WorkingThreads(2, 2).after(kOne), 1);
    EXPECT_EQ(WorkingThreads(16, 16).after(kOne), 15);
    EXPECT_EQ(WorkingThreads(16, 16).after({.others = 5.1, .queued_share = 0.4}), 11);
    EXPECT_EQ(WorkingThreads(2, 2).after({.others = 1.9, .queued_share = 0.6}), 1) << "one always works";
    EXPECT_EQ(WorkingThreads(2, 2).after(kIdle), 2);
    EXPECT_EQ(WorkingThreads(4, 16).after({.others = 8, .queued_share = 0.05}), 4);
}

/// Once threads have given way, they wait for no processor, so the share of others decides alone.
TEST(WorkingThreads, ComeBackWhenThereIsRoomForAWhile) {
    WorkingThreads threads(4, 4);
    EXPECT_EQ(threads.after({.others = 1.8, .queued_share = 0.4}), 2);
    EXPECT_EQ(threads.after({.others = 2.0, .queued_share = 0}), 2);
    EXPECT_EQ(threads.after({.others = 3.0, .queued_share = 0.1}), 1) << "another one has come";
    EXPECT_EQ(threads.after(kQuiet), 1) << "it may be a pause";
    EXPECT_EQ(threads.after({.others = 3.0, .queued_share = 0}), 1);
    EXPECT_EQ(threads.after(kQuiet), 1);
    EXPECT_EQ(threads.after(kQuiet), 4);
    EXPECT_EQ(threads.after(kQuiet), 4);
}

std::vector<float> run(const OneDnn& onednn, const Primitive& primitive, const std::vector<std::pair<int, Desc>>& read,
                       const std::pair<int, Desc>& written) {
    std::unordered_map<int, dnnl::memory> arguments;
    std::vector<std::vector<float>> values;
    Rng rng(1, RngStream::test);
    for (const auto& [argument, desc] : read) {
        std::vector<float>& own = values.emplace_back(desc.get_size() / sizeof(float));
        for (float& value : own)
            value = static_cast<float>(rng.uniform(-1, 1));
        arguments.emplace(argument, dnnl::memory(desc, onednn.engine(), own.data()));
    }
    std::vector<float> result(written.second.get_size() / sizeof(float));
    arguments.emplace(written.first, dnnl::memory(written.second, onednn.engine(), result.data()));
    arguments.emplace(DNNL_ARG_SCRATCHPAD, dnnl::memory(primitive.scratchpad, onednn.engine()));
    dnnl::stream stream = onednn.stream();
    const Threads team(primitive.threads);
    primitive.primitive.execute(stream, arguments);
    stream.wait();
    return result;
}

/// The bits on one thread are those on four.
void expect_same_again(const OneDnn& onednn, const Primitive& primitive, const std::vector<std::pair<int, Desc>>& read,
                       const std::pair<int, Desc>& written) {
    EXPECT_EQ(primitive.threads, 4);
    if (!primitive.again) {
        EXPECT_THAT(primitive.implementation, testing::AnyOf(testing::HasSubstr("gemm"), testing::HasSubstr("amx")));
        return;
    }
    const Threads one(1);
    const Primitive again = primitive.again();
    EXPECT_EQ(again.threads, 1);
    EXPECT_TRUE(again.src == primitive.src && again.weights == primitive.weights && again.dst == primitive.dst);
    EXPECT_EQ(run(onednn, again, read, written), run(onednn, primitive, read, written)) << primitive.implementation;
}

TEST(PrimitivesForFewerThreads, GiveTheSameBits) {
    const OneDnn onednn;
    const Threads four(4);
    const auto image = [](std::int64_t size, std::int64_t channels) {
        return any_layout(image_desc({DType::f32, {2, size, size, channels}}));
    };
    const auto kernel = [](std::int64_t size, std::int64_t inputs, std::int64_t outputs) {
        return any_layout(plain_kernel_desc({DType::f32, {size, size, inputs, outputs}}, 1));
    };
    for (const auto& [size, inputs, outputs] :
         {std::tuple(3, 64, 64), std::tuple(1, 256, 64), std::tuple(3, 512, 512)}) {
        const std::int64_t pad = size / 2;
        const ConvProblem problem{
            image(14, inputs), kernel(size, inputs, outputs), image(14, outputs), 1, {pad, pad, pad, pad}};
        const Primitive forward = onednn.conv_inference(problem, {.activation = graph::Activation::relu});
        expect_same_again(onednn, forward, {{DNNL_ARG_SRC, forward.src}, {DNNL_ARG_WEIGHTS, forward.weights}},
                          {DNNL_ARG_DST, forward.dst});
        const Primitive gradient = onednn.conv_input_grad(problem);
        expect_same_again(onednn, gradient, {{DNNL_ARG_DIFF_DST, gradient.dst}, {DNNL_ARG_WEIGHTS, gradient.weights}},
                          {DNNL_ARG_DIFF_SRC, gradient.src});
        EXPECT_FALSE(onednn.conv_weight_grad(problem).again) << "its sums are divided among threads";
    }
    for (const auto& [rows, inner, columns] :
         {std::tuple(1, 2048, 1000), std::tuple(8, 3072, 24), std::tuple(512, 768, 768)}) {
        const Desc a = matrix_desc(rows, inner, DType::f32);
        const Primitive product = onednn.matmul(a, any_layout(matrix_desc(inner, columns, DType::f32)),
                                                matrix_desc(rows, columns, DType::f32),
                                                /*bias=*/false);
        expect_same_again(onednn, product, {{DNNL_ARG_SRC, product.src}, {DNNL_ARG_WEIGHTS, product.weights}},
                          {DNNL_ARG_DST, product.dst});
    }
}

}  // namespace
}  // namespace cnntrain::cpu
