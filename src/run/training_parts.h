// Parts of a training before its first update: the compiled graph with its weights, the stream of batches, and what
// accompanies them.
#pragma once

#include <optional>
#include <string>

#include "cnntrain/backend/backend.h"
#include "cnntrain/parallel/pipeline.h"
#include "run/resume.h"
#include "run/trainer.h"
#include "run/training_run.h"

namespace cnntrain::run {

/// Compiles the graph and loads the weights of the beginning or of the resume point, whose tensors it releases.
TrainingParts training_parts(TrainingRun& run, const TrainingData& data, std::optional<ResumePoint> resume);

TrainerSettings trainer_settings(const TrainingRun& run, const TrainingData& data);

// Memory use of pipeline stages.

/// A title and one line per stage, as compiled (not estimated); empty for a single stage.
std::string stage_memory(const backend::CompileReport& report, const schedule::Placement& plan);

}  // namespace cnntrain::run
