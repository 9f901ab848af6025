// `--weight-avg-N` and `--weight-avg-exp`: averages of the run's checkpoints, made when the training is over.
#pragma once

#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/config/settings.h"
#include "cnntrain/schedule/run_plan.h"

namespace cnntrain::train {

struct AveragedCheckpoint {
    std::string name;  // "weight_avg_N_5", "weight_avg_exp_0.97"
    std::string path;
};

/// Into the sub-folder ckpt of `folder`. They are made of the checkpoints that the plan asks for and that are there,
/// except ckpt-0: a run that was stopped and resumed averages what an uninterrupted one does. One that is there and of
/// these very checkpoints stays; the validation row of another one goes. Error(not_found) when there are no
/// checkpoints.
std::vector<AveragedCheckpoint> average_checkpoints(FileSystem& files, const std::string& folder,
                                                    const schedule::RunPlan& plan, const CheckpointSettings& settings);

}  // namespace cnntrain::train
