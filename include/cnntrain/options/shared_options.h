// The option rows that tasks share. A task takes the groups or rows that apply to it and changes them with refine().
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "cnntrain/options/option.h"

namespace cnntrain::options {

// The groups, in the order of the help text; one source file each.
std::vector<Option> shared_main_options();
std::vector<Option> shared_run_options();  // ends with the validation options
std::vector<Option> shared_validation_options();
std::vector<Option> shared_data_options();
std::vector<Option> shared_training_options();
std::vector<Option> shared_head_options();
std::vector<Option> shared_ipu_options();
std::vector<Option> shared_logging_options();

/// Returns one of these rows. Error(internal) if none has this flag.
Option shared(std::string_view flag);
std::vector<Option> shared(std::initializer_list<std::string_view> flags);

/// The rows for a task with a single command: that command accepts all of them, and they all have an effect in it.
std::vector<Option> for_one_command(std::vector<Option> rows);

}  // namespace cnntrain::options
