// What a training is made of before its first update: the compiled graph with its weights, the stream of batches, and
// what accompanies them.
#pragma once

#include <optional>

#include "train/runs/resume.h"
#include "train/runs/trainer.h"
#include "train/runs/training_run.h"

namespace cnntrain::train {

/// Compiles the graph and loads the weights of the beginning or of the resume point, whose tensors it releases.
TrainingParts training_parts(TrainingRun& run, const TrainingData& data, std::optional<ResumePoint> resume);

TrainerSettings trainer_settings(const TrainingRun& run, const TrainingData& data);

}  // namespace cnntrain::train
