// The table of tasks. A new task is a folder beside this file and a row in tasks.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/options/task_options.h"
#include "cnntrain/run/task.h"

namespace cnntrain::tasks {

/// The first one is the default task.
const std::vector<run::TaskRow>& task_table();

/// Error(internal) naming the shared options that every run reads and the task lacks.
void check_rows(const options::TaskOptions& task);

/// The topic of a dry run about the network that evaluates one sample. `flops`: of its forward pass.
run::Topic model_topic(const run::Task& task, const graph::Graph& graph, double flops);

/// Names of the tasks, in the order of the table.
std::vector<std::string_view> task_names();

// Reads options from files beside a checkpoint, written by a run or by another program.

using namespace options;

/// The name of a run's record of its options.
constexpr const char* kArguments = "arguments.json";

/// Path of a file beside a checkpoint, or in the folder if `checkpoint` is one; "" if there is none.
std::string file_beside(const FileSystem& files, const std::string& checkpoint, const char* name);

/// The options that the run of these checkpoints has recorded: in the arguments.json of its folder, or, for a
/// checkpoint that was moved, in the file itself. Without text if neither is there. `restore_path`: as for
/// find_checkpoints().
RecordedRun recorded_run(const FileSystem& files, const std::string& restore_path);

/// The arguments.json of the run whose checkpoint or folder this is; without source if there is none.
RecordedRun arguments_beside(const FileSystem& files, const std::string& place);

/// The values of these options in a record; empty if it has no text.
Layer recorded_options(const RecordedRun& run, const OptionSet& options);

/// Takes the values of `wanted` options that the user has not given.
void take(Resolution& run, const Layer& layer, Source source, bool (*wanted)(const Option&));

// The row of pretraining in the table of tasks.

/// `command`: the command of pretraining.
run::TaskRow pretraining_row(options::Command command);

// The row of text classification in the table of tasks.

run::TaskRow text_classification_row();

// The row of question answering in the table of tasks.

run::TaskRow question_answering_row();

}  // namespace cnntrain::tasks
