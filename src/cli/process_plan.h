// The part of `cnntrain plan` that is about several processes: from its flags, and from a network that is measured.
#pragma once

#include <optional>

#include "cli/flags.h"
#include "cnntrain/comm/launcher.h"
#include "cnntrain/plan/plan.h"

namespace cnntrain::cli {

/// Error(usage) for flags that say nothing without --processes, or contradict it.
void check_process_flags(const Flags& flags);

/// With --network measure, all ranks of `world` must call it; rank 0 prints what was measured.
plan::ProcessPlan process_plan(const Flags& flags, const std::optional<comm::World>& world);

}  // namespace cnntrain::cli
