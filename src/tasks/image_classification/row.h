// The row of image classification in the table of tasks.
#pragma once

#include "cnntrain/train/task.h"

namespace cnntrain::tasks {

train::TaskRow image_classification_row();

}  // namespace cnntrain::tasks
