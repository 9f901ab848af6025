// What the stages of a pipeline hold in memory.
#pragma once

#include <string>

#include "cnntrain/backend/backend.h"
#include "cnntrain/schedule/update_plan.h"

namespace cnntrain::train {

/// A line for each stage, with a title; empty for a single stage. As compiled, not estimated.
std::string stage_memory(const backend::CompileReport& report, const schedule::Placement& plan);

}  // namespace cnntrain::train
