// The task of a parsed line.
#pragma once

#include <cstdint>
#include <memory>

#include "cnntrain/backend/backend.h"
#include "cnntrain/config/parse.h"
#include "train/tasks/task.h"

namespace cnntrain::train {

/// `backend` must outlive the task. `seed`: of the order and the transformations of the samples.
std::unique_ptr<Task> make_task(const config::ParseResult& arguments, const backend::Backend& backend,
                                std::uint64_t seed);

}  // namespace cnntrain::train
