// Speed of the IPU emulator's products on this host, in one thread. First the kernel, without roundings and with
// partials rounded to half; then the convolutions of ResNet-20 on CIFAR-10, forward and both gradients, as programs.
//   bench_emulator [--batch 32]
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <vector>

#include <poplar/CSRFunctions.hpp>
#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>
#include <poplin/ConvUtil.hpp>
#include <poplin/Convolution.hpp>

#include "ipu_emulator/numerics/product.h"
#include "ipu_emulator/numerics/threads.h"
#include "run_tool.h"

namespace {

using namespace ipu_emulator;

/// Processor time of the shortest of several rounds: other programs on the machine change it little.
double best_seconds(const std::function<void()>& work) {
    double best = 1e9;
    for (int round = 0; round < 7; ++round) {
        const std::clock_t start = std::clock();
        work();
        best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    }
    return best;
}

double kernel_rate(PartialRounding rounding) {
    constexpr std::size_t kGroups = 32;
    constexpr int kCalls = 20000;
    std::vector<float> left(kRows * kGroups * kGroup);
    std::vector<float> right(kGroups * kGroup * kPanel);
    for (std::size_t i = 0; i < left.size(); ++i)
        left[i] = half_value(ieee_half(static_cast<float>(i % 37) * 0.03f - 0.5f));
    for (std::size_t i = 0; i < right.size(); ++i)
        right[i] = half_value(ieee_half(static_cast<float>(i % 41) * 0.02f - 0.4f));
    std::vector<const float*> pointers;
    for (std::size_t i = 0; i < kRows * kGroups; ++i)
        pointers.push_back(&left[i * kGroup]);
    std::vector<float> sums(kRows * kPanel);
    float* rows[kRows];
    for (std::size_t r = 0; r < kRows; ++r)
        rows[r] = &sums[r * kPanel];
    const double seconds = best_seconds([&] {
        std::fill(sums.begin(), sums.end(), 0.0f);
        for (int i = 0; i < kCalls; ++i)
            add_products_by_row(pointers.data(), kGroups, nullptr, right.data(), {kGroups, kGroup}, {rows, kRows},
                                {rounding, Overflow::saturate, static_cast<std::uint64_t>(i)});
    });
    return 2e-9 * static_cast<double>(kRows * kPanel * kGroups * kGroup) * kCalls / seconds;
}

struct Layer {
    std::size_t field, in, out;
    unsigned kernel, stride;
    int count;
};

/// ResNet-20: one convolution, then three stages of three pairs, and two projections.
constexpr Layer kLayers[] = {{32, 3, 16, 3, 1, 1},  {32, 16, 16, 3, 1, 6}, {32, 16, 32, 3, 2, 1}, {32, 16, 32, 1, 2, 1},
                             {16, 32, 32, 3, 1, 5}, {16, 32, 64, 3, 2, 1}, {16, 32, 64, 1, 2, 1}, {8, 64, 64, 3, 1, 5}};

poplin::ConvParams params_of(const Layer& layer, std::size_t batch) {
    poplin::ConvParams params(poplar::HALF, batch, {layer.field, layer.field}, {layer.kernel, layer.kernel}, layer.in,
                              layer.out, 1);
    const unsigned padding = layer.kernel / 2;
    params.inputTransform.paddingLower = params.inputTransform.paddingUpper = {padding, padding};
    params.outputTransform.stride = {layer.stride, layer.stride};
    return params;
}

/// Seconds of forward, input gradient and weight gradient.
std::vector<double> layer_seconds(const Layer& layer, std::size_t batch) {
    poplar::IPUModel model;
    model.tilesPerIPU = 64;
    const poplar::Device device = model.createDevice();
    poplar::Graph graph(device);
    const poplin::ConvParams params = params_of(layer, batch);
    const poplar::OptionFlags options{{"partialsType", "half"}};
    const poplar::Tensor in = poplin::createInput(graph, params, "in", options);
    const poplar::Tensor weights = poplin::createWeights(graph, params, "weights", options);
    std::vector<float> values(std::max(in.numElements(), weights.numElements()));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(i * 7919 % 1000) * 0.001f - 0.5f;
    graph.setInitialValue(in, poplar::ArrayRef<float>(values.data(), in.numElements()));
    graph.setInitialValue(weights, poplar::ArrayRef<float>(values.data(), weights.numElements()));
    poplar::program::Sequence start, forward, back, update;
    poplar::setStochasticRounding(graph, start, true);
    const poplar::Tensor out = poplin::convolution(graph, in, weights, params, false, forward, "forward", options);
    poplin::convolution(graph, out, weights, poplin::getGradientParams(params), true, back, "back", options);
    poplin::calculateWeightDeltas(graph, out, in, params, update, "update", options);
    poplar::Engine engine(graph, {start, forward, back, update});
    engine.load(device);
    engine.run(0);
    engine.run(1);
    std::vector<double> seconds;
    for (unsigned pass = 1; pass <= 3; ++pass)
        seconds.push_back(best_seconds([&] { engine.run(pass); }));
    return seconds;
}

void print_kernel_rates() {
    const double exact = kernel_rate(PartialRounding::none);
    std::printf("products, one thread       GFLOP/s  share\n");
    std::printf("  float partials           %7.1f   1.00\n", exact);
    for (const auto& [name, rounding] : {std::pair{"half partials, nearest", PartialRounding::nearest},
                                         {"half partials, stochastic", PartialRounding::stochastic}}) {
        const double rate = kernel_rate(rounding);
        std::printf("  %-24s %7.1f   %.2f\n", name, rate, rate / exact);
    }
}

void print_layer_rates(std::size_t batch) {
    std::printf("ResNet-20, batch %zu, half partials, stochastic rounding, one thread (GFLOP/s)\n", batch);
    std::printf("  convolution              forward   input  weights\n");
    double all_flops = 0;
    double all_seconds = 0;
    for (const Layer& layer : kLayers) {
        const std::size_t side = layer.field / layer.stride;
        const double flops =
            2.0 * static_cast<double>(batch * side * side * layer.in * layer.out) * layer.kernel * layer.kernel;
        const std::vector<double> seconds = layer_seconds(layer, batch);
        std::printf("  %zux%zu %2zu -> %2zu, %ux%u / %u   ", layer.field, layer.field, layer.in, layer.out,
                    layer.kernel, layer.kernel, layer.stride);
        for (const double s : seconds) {
            std::printf(" %7.1f", flops / s * 1e-9);
            all_seconds += s * layer.count;
            all_flops += flops * layer.count;
        }
        std::printf("\n");
    }
    std::printf("  all, %4.1f ms an update     %7.1f\n", all_seconds * 1e3, all_flops / all_seconds * 1e-9);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Speed of the IPU emulator's products on this host, in one thread.");
    std::size_t batch = 32;
    app.add_option("--batch", batch, "images per micro-batch of ResNet-20")->check(CLI::Range(1, 4096));
    return cnntrain::run_tool(app, argc, argv, [&] {
        set_host_threads(1);
        print_kernel_rates();
        print_layer_rates(batch);
        return 0;
    });
}
