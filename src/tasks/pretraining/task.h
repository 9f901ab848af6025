// The row of pretraining in the table of tasks.
#pragma once

#include "cnntrain/run/task.h"

namespace cnntrain::tasks {

/// `command`: the command of pretraining.
run::TaskRow pretraining_row(options::Command command);

}  // namespace cnntrain::tasks
