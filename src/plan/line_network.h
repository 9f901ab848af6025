// The network of a training line as plan sees it, before anything is measured.
#pragma once

#include <memory>
#include <string>

#include "cnntrain/backend/backend.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/train/task.h"
#include "plan/functions.h"
#include "plan/prediction.h"

namespace cnntrain::plan {

struct NetworkOfLine {
    FunctionNames names;
    graph::Graph graph;          // the whole weight update, in one stage, without --enable-recomputation
    PlannedNetwork network;      // without a profile
    std::string without_copies;  // why the backend's copies of variables are not known; empty: they are
};

/// Compiles the graph to learn what the backend keeps. A network that is too large for this machine is planned without
/// that:
/// it may be for another one.
NetworkOfLine network_of_line(const train::TaskRow& row, const config::ParseResult& arguments,
                              const backend::Backend& backend);

}  // namespace cnntrain::plan
