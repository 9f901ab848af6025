// A complete training run: open the data, compile, train, average, validate.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cnntrain/backend/backend.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/parallel/pipeline.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/task.h"
#include "cnntrain/run/weights.h"
#include "run/resume.h"
#include "run/run_files.h"
#include "run/trainer.h"

namespace cnntrain::run {

// Data that the steps of one training run share.

struct TrainingRun {
    const Task& task;
    const backend::Backend& backend;
    const options::ParseResult& arguments;
    const Host& host;
    RunFolder folder;
    metrics::Observers observers;
    std::uint64_t seed = 0;

    const options::Settings& settings() const { return arguments.settings; }
    FileSystem& files() const { return *host.files; }
};

struct TrainingData : OpenedData {
    schedule::BatchPlan batch;
    schedule::Placement placement;
    std::optional<graph::Graph> graph;  // of the training
};

inline bool wants_checkpoints(const CheckpointSettings& settings) {
    return settings.ckpts_per_epoch > 0 || settings.epochs_per_ckpt > 0;
}

// Parts of a training before its first update: the compiled graph with its weights, the stream of batches, and what
// accompanies them.

/// Compiles the graph and loads the weights of the beginning or of the resume point, whose tensors it releases.
TrainingParts training_parts(TrainingRun& run, const TrainingData& data, std::optional<ResumePoint> resume);

TrainerSettings trainer_settings(const TrainingRun& run, const TrainingData& data);

// Memory use of pipeline stages.

/// A title and one line per stage, as compiled (not estimated); empty for a single stage.
std::string stage_memory(const backend::CompileReport& report, const schedule::Placement& plan);

/// Returns and throws like run_training(), for any task.
int train(const Task& task, const backend::Backend& backend, RunStart start, const Host& host);

}  // namespace cnntrain::run
