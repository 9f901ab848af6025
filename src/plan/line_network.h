// The network of a training command line, before any measurement.
#pragma once

#include <string>

#include "cnntrain/backend/backend.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/train/task.h"
#include "plan/functions.h"
#include "plan/prediction.h"

namespace cnntrain::plan {

struct NetworkOfLine {
    FunctionNames names;
    graph::Graph graph;          // of the whole weight update, in one stage, without --enable-recomputation
    PlannedNetwork network;      // without a profile
    std::string without_copies;  // why copies of variables in the backend are unknown; empty: they are known
};

/// Compiles the graph to find out what the backend keeps in memory. A network that is too large for this machine is
/// planned without that information, since the plan may be for another machine.
NetworkOfLine network_of_line(const train::TaskRow& row, const config::ParseResult& arguments,
                              const backend::Backend& backend);

}  // namespace cnntrain::plan
