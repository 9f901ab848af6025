// The row of text classification in the table of tasks.
#pragma once

#include "cnntrain/run/task.h"

namespace cnntrain::tasks {

run::TaskRow text_classification_row();

}  // namespace cnntrain::tasks
