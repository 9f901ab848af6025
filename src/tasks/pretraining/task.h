// The row of pretraining in the table of tasks.
#pragma once

#include "cnntrain/run/task.h"

namespace cnntrain::tasks {

/// `command`: the command of pretraining.
train::TaskRow pretraining_row(config::Command command);

}  // namespace cnntrain::tasks
