// Placement of a plan on the CPU: replicas become further micro-batches, which run on lanes.
#pragma once

#include <cstdint>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/schedule/pipeline.h"

namespace cnntrain::cpu {

/// Number of compute threads.
int compute_threads(const backend::CpuSettings& cpu);

/// Error(usage) if a lane would have no work or no thread.
schedule::Placement placement_of(const schedule::UpdatePlan& plan, const backend::CpuSettings& cpu);

/// The lane of each stage of each pipeline, stages of pipeline 0 first. Each pipeline has its own lanes, and its stages
/// are divided so that all lanes have about the same work.
std::vector<std::int32_t> lanes_of_sites(const graph::Graph& graph, const schedule::Placement& placement);

}  // namespace cnntrain::cpu
