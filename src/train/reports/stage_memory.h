// Memory use of pipeline stages.
#pragma once

#include <string>

#include "cnntrain/backend/backend.h"
#include "cnntrain/schedule/update_plan.h"

namespace cnntrain::train {

/// A title and one line per stage, as compiled (not estimated); empty for a single stage.
std::string stage_memory(const backend::CompileReport& report, const schedule::Placement& plan);

}  // namespace cnntrain::train
