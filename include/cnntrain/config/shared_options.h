// The rows that tasks share. A task takes the groups or the rows that mean something to it, and says with refine() what
// is different with it.
#pragma once

#include <string_view>
#include <vector>

#include "cnntrain/config/option.h"

namespace cnntrain::config {

// The groups, in the order of help; one file each.
std::vector<Option> shared_main_options();
std::vector<Option> shared_run_options();
std::vector<Option> shared_data_options();
std::vector<Option> shared_training_options();
std::vector<Option> shared_ipu_options();
std::vector<Option> shared_logging_options();

/// One of their rows; Error(internal) when there is none with this flag.
Option shared(std::string_view flag);
std::vector<Option> shared(const std::vector<std::string_view>& flags);

/// For a task with one command: it takes all of the rows, and they act in it.
std::vector<Option> for_one_command(std::vector<Option> rows);

}  // namespace cnntrain::config
