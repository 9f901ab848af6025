// The table of all operations: one definition per OpKind, each made in the file of its family.
#pragma once

#include "cnntrain/graph/op.h"

namespace cnntrain::ops {

/// Shape rule, gradient, FLOP count and naive evaluator of every OpKind, indexed by it.
const graph::OpTable& op_table();

}  // namespace cnntrain::ops
