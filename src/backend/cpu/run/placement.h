// How the CPU computes a plan: replicas as further micro-batches, on lanes.
#pragma once

#include <cstdint>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/schedule/update_plan.h"

namespace cnntrain::cpu {

/// Threads that compute.
int compute_threads(const backend::CpuSettings& cpu);

/// Error(usage) for lanes that would have nothing to do, or no thread.
schedule::Placement placement_of(const schedule::UpdatePlan& plan, const backend::CpuSettings& cpu);

/// The lane of each stage of each copy, stages of copy 0 first: the stages of each copy on lanes of its own, so that
/// every lane has about as much to compute.
std::vector<std::int32_t> lanes_of_sites(const graph::Graph& graph, const schedule::Placement& placement);

}  // namespace cnntrain::cpu
