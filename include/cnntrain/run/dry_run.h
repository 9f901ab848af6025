// Describes what a command line would do, without running it.
#pragma once

#include <string>

#include "cnntrain/options/parse.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/task.h"

namespace cnntrain::run {

/// Set to "off", it leaves out the estimates of a training's memory and time, which take some seconds.
inline constexpr const char* kEstimateVariable = "CNNTRAIN_DRY_RUN_ESTIMATE";

/// The resolved run, one line per topic: model, data, batches, length, schedule, precision, files, and for a training
/// its memory, time and checkpoints. The graph is compiled without memory for its values, and a few micro-batches of
/// made-up samples are computed for some seconds. Data of a new run need not exist: the number of images comes from the
/// data files if their folder exists, otherwise from the published set. A resumed training needs its checkpoint and its
/// data, which are compared as the run does.
/// Throws the run's error where the run would be refused before it opens its data, for other data than the resumed
/// run's, and for a graph that the backend cannot compile.
std::string dry_run_text(const TaskRow& row, const options::ParseResult& arguments);

/// Prints dry_run_text() in rank 0's process. Errors are those of the run's ranks.
void print_dry_run(const TaskRow& row, const options::ParseResult& arguments, const Host& host);

}  // namespace cnntrain::run
