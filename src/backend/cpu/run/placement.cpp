#include "backend/cpu/run/placement.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/cpu/onednn.h"
#include "backend/cpu/run/lanes.h"
#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/processor.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/base/text.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::cpu {

using schedule::Placement;

namespace {

/// The smallest number of pipelines that gives every lane a stage, since each needs memory; empty if there is none.
std::optional<std::int32_t> pipelines_for(const Placement& placement, std::int32_t lanes) {
    for (std::int32_t pipelines = 1; pipelines <= lanes; ++pipelines) {
        const bool divides = lanes % pipelines == 0 && placement.micro_batches % pipelines == 0;
        if (divides && lanes / pipelines <= placement.stages) return pipelines;
    }
    return std::nullopt;
}

void check_lanes(const Placement& placement, int threads) {
    const auto usable = [&](std::int32_t lanes) {
        return lanes <= threads && pipelines_for(placement, lanes).has_value();
    };
    if (usable(placement.lanes)) return;
    std::int32_t most = placement.lanes - 1;
    while (!usable(most))
        --most;
    throw Error(ErrorKind::usage,
                "--lanes " + std::to_string(placement.lanes) + " cannot all be used: " +
                    counted(placement.stages, "stage") + ", " + counted(placement.micro_batches, "micro-batch", "es") +
                    " per weight update and " + counted(threads, "thread") + " have work for " + std::to_string(most));
}

/// Parallel stages are as fast as sequential ones, and faster on a busy machine (tools/measurements/plan.md). One
/// micro-batch at a time needs less memory, so a sequential pipeline has one lane.
std::int32_t chosen_lanes(const Placement& placement, int threads) {
    const bool fills = placement.schedule != schedule::PipelineSchedule::sequential;
    return fills ? std::min<std::int32_t>(placement.stages, threads) : 1;
}

/// Processes that share batch-norm statistics must compute all norms in the same order.
std::int32_t lanes_of(const schedule::UpdatePlan& plan, const Placement& placement, std::int64_t asked, int threads) {
    if (schedule::norm_processes(plan) == 1)
        return asked == 0 ? chosen_lanes(placement, threads) : static_cast<std::int32_t>(asked);
    if (asked <= 1) return 1;
    throw Error(ErrorKind::usage,
                "--lanes " + std::to_string(asked) + " is not possible with --BN-span " +
                    std::to_string(plan.norm_span) +
                    " over several processes, which compute all norms in the same order; use --lanes 1");
}

}  // namespace

int compute_threads(const backend::CpuSettings& cpu) {
    return cpu.threads > 0 ? cpu.threads : available_cores();
}

Placement placement_of(const schedule::UpdatePlan& plan, const backend::CpuSettings& cpu) {
    const int threads = compute_threads(cpu);
    Placement placement = schedule::in_one_lane(plan);
    placement.lanes = lanes_of(plan, placement, cpu.lanes, threads);
    check_lanes(placement, threads);
    placement.pipelines = *pipelines_for(placement, placement.lanes);
    return placement;
}

std::vector<std::int32_t> lanes_of_sites(const graph::Graph& graph, const Placement& placement) {
    CNNTRAIN_CHECK(placement.pipelines >= 1 && placement.lanes % placement.pipelines == 0 &&
                       placement.micro_batches % placement.pipelines == 0,
                   "pipelines share lanes and micro-batches evenly");
    std::vector<double> flops(static_cast<std::size_t>(placement.stages));
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const graph::Node& node = graph.node(graph::NodeId{i});
        if (node.phase != graph::Phase::update)
            flops[static_cast<std::size_t>(node.stage.index)] += graph.node_flops(graph::NodeId{i});
    }
    const std::int32_t lanes = placement.lanes / placement.pipelines;
    const std::vector<std::int32_t> of_stages = schedule::place_stages(flops, lanes);
    std::vector<std::int32_t> of_sites;
    for (std::int32_t pipeline = 0; pipeline < placement.pipelines; ++pipeline) {
        for (const std::int32_t lane : of_stages)
            of_sites.push_back(pipeline * lanes + lane);
    }
    return of_sites;
}

using graph::NodeId;
using graph::ValueId;

namespace {

/// Bytes of the last cache; 16 MB if the system does not report any.
std::size_t last_cache_bytes() {
    const std::vector<CacheLevel> caches = data_caches();
    return caches.empty() ? std::size_t{16} << 20 : caches.back().bytes;
}

bool has_16_bit_activations(const graph::Graph& graph) {
    for (const graph::Node& node : graph.nodes()) {
        for (const ValueId result : node.outputs) {
            const DType type = graph.desc(result).dtype;
            if (!graph.is_variable(result) && (type == DType::bf16 || type == DType::f16)) return true;
        }
    }
    return false;
}

/// Are the activations of `samples` larger than twice the weights, which each part reads again? Zen 4, f32, batches of
/// 16: parts of EfficientNet-B0 took 0.82 of the time of the whole, parts of ResNet-50 1.03 to 1.07.
bool has_small_weights(const graph::Graph& graph, std::int64_t samples, std::int64_t part) {
    std::size_t weights = 0;
    for (const ValueId variable : graph.variables())
        weights += graph.desc(variable).bytes();
    std::size_t activations = 0;
    for (const graph::Node& node : graph.nodes()) {
        for (const ValueId result : node.outputs)
            activations += graph.desc(result).bytes();
    }
    return activations / static_cast<std::size_t>(samples) * static_cast<std::size_t>(part) > 2 * weights;
}

std::int64_t chosen_samples(const backend::CompileRequest& request, std::int64_t samples) {
    const std::int64_t asked = request.cpu.sub_batch;
    CNNTRAIN_CHECK(asked == 0 || samples % asked == 0,
                   "a sub-batch of " + std::to_string(asked) + " samples does not divide " + std::to_string(samples));
    if (asked > 0) return asked;
    if (request.cpu.thread_independent) return samples;
    const std::int64_t part = sub_batch_of(samples, bytes_of_sample(*request.graph, samples), last_cache_bytes(),
                                           compute_threads(request.cpu));
    const bool pays = has_16_bit_activations(*request.graph) || has_small_weights(*request.graph, samples, part);
    return pays ? part : samples;
}

}  // namespace

std::size_t bytes_of_sample(const graph::Graph& graph, std::int64_t samples) {
    std::size_t largest = 0;
    for (const graph::Node& node : graph.nodes()) {
        std::size_t bytes = 0;
        for (const ValueId result : node.outputs)
            bytes += graph.desc(result).bytes();
        if (!node.inputs.empty() && !graph.is_variable(node.inputs.front()))
            bytes += graph.desc(node.inputs.front()).bytes();
        largest = std::max(largest, bytes);
    }
    return largest / static_cast<std::size_t>(samples);
}

std::int64_t sub_batch_of(std::int64_t samples, std::size_t bytes_of_sample, std::size_t cache_bytes, int threads) {
    const std::int64_t least = std::max(1, threads / 2);
    std::int64_t chosen = samples;
    for (std::int64_t part = samples - 1; part >= least; --part) {
        const bool fits = static_cast<std::size_t>(chosen) * bytes_of_sample <= cache_bytes / 2;
        if (!fits && samples % part == 0) chosen = part;
    }
    return chosen;
}

SubBatches sub_batches_of(const backend::CompileRequest& request) {
    const graph::Graph& whole = *request.graph;
    const std::optional<std::int64_t> samples = graph::samples_of(whole);
    if (!samples) return {whole};
    const std::int64_t part = chosen_samples(request, *samples);
    if (part < *samples) {
        if (std::optional<graph::Graph> resized = graph::with_samples(whole, part))
            return {std::move(*resized), *samples / part};
    }
    return {whole};
}

double measure_products(DType type, int threads) {
    set_threads(threads);
    constexpr std::int64_t kSide = 512;
    constexpr double kSeconds = 0.12;
    const std::int64_t rows = kSide * std::clamp(threads, 1, 16);
    const OneDnn onednn;
    const auto open = [&](std::int64_t height, DType of) {
        return Desc({height, kSide}, to_dnnl(of), dnnl::memory::format_tag::any);
    };
    const bool in_bytes = type == DType::u8;
    const Primitive product = onednn.matmul(open(rows, type), open(kSide, in_bytes ? DType::i8 : type),
                                            open(rows, in_bytes ? DType::i32 : type), false);
    const dnnl::memory a(product.src, onednn.engine());
    const dnnl::memory b(product.weights, onednn.engine());
    const dnnl::memory c(product.dst, onednn.engine());
    const dnnl::memory scratch(product.scratchpad, onednn.engine());
    fill_with_numbers(a, type);
    fill_with_numbers(b, type);
    dnnl::stream stream = onednn.stream();
    const double seconds = least_seconds(kSeconds, [&](int) {
        product.primitive.execute(
            stream, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}, {DNNL_ARG_SCRATCHPAD, scratch}});
        stream.wait();
    });
    return 2.0 * static_cast<double>(rows * kSide * kSide) / seconds;
}

void fill_with_numbers(const dnnl::memory& memory, DType type) {
    const bool is_f32 = type == DType::f32;
    const std::uint32_t random_bits = is_f32 ? 0x807fffffU : 0x807f807fU;
    const std::uint32_t ones = is_f32 ? 0x3f800000U : 0x3f803f80U;
    const WordKey key = word_key(1, RngStream::test, 0, 0);
    auto* const words = static_cast<std::uint32_t*>(memory.get_data_handle());
    const std::size_t count = memory.get_desc().get_size() / sizeof(std::uint32_t);
    for (std::size_t i = 0; i < count; ++i)
        words[i] = (random_word(key, static_cast<std::uint32_t>(i)) & random_bits) | ones;
}

}  // namespace cnntrain::cpu
