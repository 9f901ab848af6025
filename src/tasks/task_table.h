// The table of tasks. A new task is a folder beside this file and a row in task_table.cpp.
#pragma once

#include <string_view>
#include <vector>

#include "cnntrain/run/task.h"

namespace cnntrain::tasks {

/// The first one is the default task.
const std::vector<run::TaskRow>& task_table();

/// Error(internal) naming the shared options that every run reads and the task lacks.
void check_rows(const options::TaskOptions& task);

/// Names of the tasks, in the order of the table.
std::vector<std::string_view> task_names();

}  // namespace cnntrain::tasks
