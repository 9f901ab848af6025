// Batches and pipeline of a training command line.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/parallel/pipeline.h"
#include "cnntrain/run/task.h"
#include "insight/plan/functions.h"
#include "insight/plan/times.h"

namespace cnntrain::plan {

struct PlannedLine {
    bool pipelined = false;
    std::vector<std::string> splits{};
    std::int64_t shards = 1;
    schedule::PipelineSchedule schedule = schedule::PipelineSchedule::grouped;
    std::int64_t micro_batch = 1;   // samples
    std::int64_t accumulation = 1;  // micro-batches per replica and weight update
    std::int64_t replicas = 1;      // of the process; the micro-batches of all replicas go through these stages

    /// The options with which stages 1, 2, ... begin at these functions, in this schedule if the line has no pipeline.
    std::function<std::string(const std::vector<std::string>& splits)> written_stages{};
    /// Beyond the schedule's: the task accepts multiples of this many micro-batches for so many stages.
    std::function<std::int64_t(std::int64_t stages)> unit_of_task{};

    std::int32_t stages() const { return static_cast<std::int32_t>(splits.size()) + 1; }
    std::int64_t micro_batches() const { return accumulation * replicas; }
    /// The schedule and the task accept multiples of this many micro-batches.
    std::int64_t micro_batch_unit(const schedule::Pipeline& pipeline) const;
    /// The least accumulation, not below the command line's, that is accepted.
    std::int64_t legal_accumulation(const schedule::Pipeline& pipeline) const;
    std::int64_t legal_micro_batches(const schedule::Pipeline& pipeline) const {
        return legal_accumulation(pipeline) * replicas;
    }
};

/// Error(usage) if the number of micro-batches overflows.
PlannedLine line_of(const run::TaskRow& row, const options::ParseResult& arguments);

// The network of a training command line, before any measurement.

struct NetworkOfLine {
    FunctionNames names;
    graph::Graph graph;          // of the whole weight update, in one stage, without --enable-recomputation
    PlannedNetwork network;      // without times
    std::string without_copies;  // why copies of variables in the backend are unknown; empty: they are known
};

/// Compiles the graph to find out what the backend keeps in memory. A network that is too large for this machine is
/// planned without that information, since the plan may be for another machine.
NetworkOfLine network_of_line(const run::TaskRow& row, const options::ParseResult& arguments,
                              const backend::Backend& backend);

}  // namespace cnntrain::plan
