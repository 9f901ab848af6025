// What a screen shows of a run's settings at its start: what a person wants to check, in a few lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/graph/graph.h"
#include "cnntrain/schedule/run_plan.h"
#include "cnntrain/train/task.h"

namespace cnntrain::train {

/// "resnet 20, batch norm, 269722 parameters"; without a graph, without parameters.
std::string network_title(const TaskDescription& task, const graph::Graph* graph = nullptr);

/// `validation_samples`: empty without a validation.
std::vector<Topic> training_topics(const Task& task, const config::Settings& settings, const schedule::RunPlan& plan,
                                   std::int64_t training_samples, std::optional<std::int64_t> validation_samples);

/// Of validation and inference.
std::vector<Topic> evaluation_topics(const Task& task, const config::Settings& settings, std::int64_t samples);

}  // namespace cnntrain::train
