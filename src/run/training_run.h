// Data that the steps of one training run share.
#pragma once

#include <cstdint>
#include <optional>

#include "cnntrain/backend/backend.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/task.h"
#include "cnntrain/run/weights.h"
#include "run/resume.h"
#include "run/run_files.h"

namespace cnntrain::run {

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

}  // namespace cnntrain::run
