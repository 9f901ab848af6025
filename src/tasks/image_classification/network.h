// Builds the data settings and graphs of image classification from its settings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/run/task.h"
#include "tasks/image_classification/options.h"

namespace cnntrain::tasks {

/// Settings of the data; for real data, searches the folder with the files.
data::InputSettings data_settings(const options::Settings& settings, const backend::Backend& backend,
                                  std::uint64_t seed);
/// The same without the search.
data::InputSettings data_settings_without_folder(const options::Settings& settings, const backend::Backend& backend,
                                                 std::uint64_t seed);
nn::NetworkSettings network_settings(const options::Settings& settings);
/// Request for a network in one stage.
nn::BuildRequest build_request(const options::Settings& settings, const backend::Backend& backend,
                               const TensorDesc& images);

/// The network's functions in order; a pipeline may be split at each. Throws Error(usage) for a size that the family
/// does not have.
std::vector<std::string> image_functions(const options::Settings& settings);
/// The usual splits of a pipeline: residual networks are split before a ReLU, which is then recomputed instead of sent
/// twice.
std::vector<std::string> usual_image_splits(const options::Settings& settings);

/// One whole weight update: forward, backward, optimiser, moving averages, and the rewrites that the backend wants.
/// `class_weights`: of the loss; empty: all 1.
graph::Graph training_graph(const options::Settings& settings, const backend::Backend& backend,
                            const TensorDesc& images, const std::vector<double>& class_weights = {});
/// True if validation reports top-5 accuracy: for some data sets, and during training; only with more than 5 classes.
bool reports_top_5(const options::Settings& settings);
/// Forward pass with moving averages. With `with_logits`, also has the output run::kLogits. `views`: images of each
/// sample.
graph::Graph evaluation_graph(const options::Settings& settings, const backend::Backend& backend,
                              const TensorDesc& images, bool with_logits = false, std::int64_t views = 1);
run::Classifier::Features features_graph(const options::Settings& settings, const backend::Backend& backend,
                                         const TensorDesc& images);

}  // namespace cnntrain::tasks
