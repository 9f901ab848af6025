// The row of pretraining in the table of tasks.
#pragma once

#include "cnntrain/train/task.h"

namespace cnntrain::tasks {

/// `command`: its own one.
train::TaskRow pretraining_row(config::Command command);

}  // namespace cnntrain::tasks
