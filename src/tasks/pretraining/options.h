// The option rows of pretraining.
#pragma once

#include <vector>

#include "tasks/bert/options.h"
#include "tasks/pretraining/settings.h"

namespace cnntrain::tasks {

// The groups of its own options; one file or part of a file each.
std::vector<Option> pretraining_main_options();
std::vector<Option> pretraining_model_options();
std::vector<Option> pretraining_data_options();
std::vector<Option> pretraining_training_options();
std::vector<Option> pretraining_ipu_options();
std::vector<Option> pretraining_logging_options();

/// All options, in the order of the help text.
const OptionSet& pretraining_options();

}  // namespace cnntrain::tasks
