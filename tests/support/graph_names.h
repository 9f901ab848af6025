// The names of graphs that tests use most.
#pragma once

#include "cnntrain/graph/graph.h"

namespace cnntrain::test {

using graph::Attrs;
using graph::Graph;
using graph::NoAttrs;
using graph::NodeId;
using graph::OpKind;
using graph::Phase;
using graph::RefTensor;
using graph::Role;
using graph::StageId;
using graph::ValueId;

}  // namespace cnntrain::test
