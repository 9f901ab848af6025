// Placement of a plan on the CPU: replicas become further micro-batches, which run on lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <dnnl.hpp>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/parallel/pipeline.h"

namespace cnntrain::cpu {

// The speed of matrix products on this machine, as a yardstick for whole steps.

/// FLOPs a second of the fastest of several products of large matrices of this type, f32 or bf16. Takes about 0.12
/// seconds, longer where other programs compute.
double measure_products(DType type, int threads);

/// Random numbers between 1 and 2, of either sign; of f32 or bfloat16. Processors multiply zeros with less power than
/// numbers, and so at a higher clock rate.
void fill_with_numbers(const dnnl::memory& memory, DType type);

/// Number of compute threads.
int compute_threads(const backend::CpuSettings& cpu);

/// Error(usage) if a lane would have no work or no thread.
schedule::Placement placement_of(const schedule::UpdatePlan& plan, const backend::CpuSettings& cpu);

/// The lane of each stage of each pipeline, stages of pipeline 0 first. Each pipeline has its own lanes, and its stages
/// are divided so that all lanes have about the same work.
std::vector<std::int32_t> lanes_of_sites(const graph::Graph& graph, const schedule::Placement& placement);

// Evaluation in sub-batches: a batch whose activations are larger than the last cache is worked through in equal parts,
// each from the first layer to the last, if they have 16 bits or are much larger than the weights.

/// The graph that is compiled for a request, and how often it runs for a batch.
struct SubBatches {
    graph::Graph graph;
    std::int64_t count = 1;
};
SubBatches sub_batches_of(const backend::CompileRequest& request);

/// The most bytes of a node's first operand and results, for one sample. A further operand is a residual, over which
/// the result is written.
std::size_t bytes_of_sample(const graph::Graph& graph, std::int64_t samples);

/// Samples of a sub-batch: the largest divisor of `samples` for which these bytes are at most half of the cache; the
/// other half is for weights. At least one sample for two threads: with fewer, the last layers keep them waiting.
std::int64_t sub_batch_of(std::int64_t samples, std::size_t bytes_of_sample, std::size_t cache_bytes, int threads);

}  // namespace cnntrain::cpu
