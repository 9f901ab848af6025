// `--weight-avg-N` and `--weight-avg-exp`: averages of a run's checkpoints, computed after training.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/config/settings.h"
#include "cnntrain/schedule/run_plan.h"

namespace cnntrain::train {

/// Base name of the file with the average of --ema-decay, and of its rows.
inline constexpr std::string_view kAverageName = "weight_avg_ema";

struct AveragedCheckpoint {
    std::string name;  // "weight_avg_N_5", "weight_avg_exp_0.97"
    std::string path;
};

/// Writes the averages into the subfolder ckpt of `folder`. They include those planned checkpoints that exist, except
/// ckpt-0, so that a resumed run averages the same checkpoints as an uninterrupted one. An existing average of exactly
/// these checkpoints is kept; the validation row of any other is removed. Throws Error(not_found) if no checkpoint
/// exists.
std::vector<AveragedCheckpoint> average_checkpoints(FileSystem& files, const std::string& folder,
                                                    const schedule::RunPlan& plan, const CheckpointSettings& settings);

}  // namespace cnntrain::train
