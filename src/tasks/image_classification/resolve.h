// The steps from the values of image classification's options to its settings.
#pragma once

#include <optional>
#include <string>

#include "cnntrain/config/task_options.h"
#include "tasks/image_classification/options.h"

namespace cnntrain::tasks {

/// What is not given: the data set, and what a model or data set sets.
void fill_image_options(Resolution& run);
/// Values changed with a notice.
void adjust_image_options(Resolution& run);
/// Rules between options.
void check_image_options(Resolution& run);
/// Members that more than one option decides.
void complete_image_settings(Settings& settings, const Resolution& run);
/// Why an option changes nothing with the images of this run; "" when it acts.
std::string images_reason(const Option& option, const OptionValues& values);

/// What a model or data set sets when the user did not.
void fill_model_defaults(Resolution& run);

std::optional<nn::Family> family_of(const OptionValues& values);
std::optional<data::DatasetId> dataset_of(const OptionValues& values);

}  // namespace cnntrain::tasks
