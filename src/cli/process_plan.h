// The part of `cnntrain plan` that predicts several processes, on a network described by flags or measured.
#pragma once

#include <optional>

#include "cli/flags.h"
#include "cnntrain/comm/launcher.h"
#include "cnntrain/plan/plan.h"

namespace cnntrain::cli {

/// Error(usage) for flags that need --processes or contradict it.
void check_process_flags(const Flags& flags);

/// With --network measure, all ranks of `world` must call this function; rank 0 prints the measurements.
plan::ProcessPlan process_plan(const Flags& flags, const std::optional<comm::World>& world);

}  // namespace cnntrain::cli
