// Runs and graphs of the task that a line is for: tests of runs need one.
#pragma once

#include "cnntrain/tasks/tasks.h"
#include "tasks/image_classification/network.h"
#include "tasks/image_classification/task.h"

namespace cnntrain::run::testing {

using tasks::build_request;
using tasks::data_settings;
using tasks::dry_run_text;
using tasks::evaluation_graph;
using tasks::ImageClassification;
using tasks::network_settings;
using tasks::restored_arguments;
using tasks::run_restored;
using tasks::training_graph;

}  // namespace cnntrain::run::testing
