// The steps from the option values of image classification to its settings.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cnntrain/data/sets.h"
#include "cnntrain/options/task_options.h"
#include "tasks/image_classification/network.h"
#include "tasks/image_classification/options.h"

namespace cnntrain::tasks {

/// Fills in unset values: the data set, and defaults of the model and the data set.
void fill_image_options(Resolution& run);
/// Adjusts values and adds notices.
void adjust_image_options(Resolution& run);
/// Checks rules between options.
void check_image_options(Resolution& run);
/// Sets the members that depend on several options. Adds a notice on a network that other programs lack.
void complete_image_settings(Settings& settings, Resolution& run);
/// Why an option has no effect with the images of this run; "" if it has one.
std::string images_reason(const Option& option, const Resolution& run);

/// Fills in the values that the model or data set defines and the user did not give.
void fill_model_defaults(Resolution& run);

/// The settings of the data, as far as the options give them so far.
data::DataSettings options_of_data(const Resolution& run);
/// Empty until it is known.
std::optional<data::DatasetId> dataset_of(const Resolution& run);

// Data that the steps of image classification find in files: each file is read once for a line.

struct ImageFindings : options::Findings {
    std::shared_ptr<data::FoundPhotos> photos = data::found_photos();
    std::optional<std::string> weights_path = {};  // as the line names it; empty: no weights were looked for
    std::optional<WeightsSource> weights = {};     // of weights_path
};

/// The findings, made by the first step that asks.
ImageFindings& findings_of(std::shared_ptr<options::Findings>& findings);
/// The same, after the step `fill` has begun.
ImageFindings& findings_of(const options::Resolution& run);

}  // namespace cnntrain::tasks
