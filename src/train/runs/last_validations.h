// What follows the last update of a training: averages of its checkpoints, and their validation.
#pragma once

#include "train/runs/training_run.h"

namespace cnntrain::train {

/// Writes the averages. Validates them and the planned checkpoints that still exist, unless these were validated during
/// the training, and those that have a row already. Returns false if a stop was requested.
bool average_and_validate(TrainingRun& run, const TrainingData& data);

}  // namespace cnntrain::train
