// Builds the data settings and graphs of image classification from its settings.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/io.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/options/task_options.h"
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
/// The evaluation of a teacher, with its model's settings, on the student's images and in its numbers.
graph::Graph teacher_graph(const options::Settings& student, const options::Settings& teacher,
                           const backend::Backend& backend, const TensorDesc& images);
/// True if validation reports top-5 accuracy: for some data sets, and during training; only with more than 5 classes.
bool reports_top_5(const options::Settings& settings);
/// Forward pass with moving averages. `use`: evaluation, classes or maps. `views`: images of each sample.
graph::Graph evaluation_graph(const options::Settings& settings, const backend::Backend& backend,
                              const TensorDesc& images, run::GraphUse use = run::GraphUse::evaluation,
                              std::int64_t views = 1);
run::Classifier::Features features_graph(const options::Settings& settings, const backend::Backend& backend,
                                         const TensorDesc& images);

// Facts about the network of a file of weights, as values of options: the network's kind and size, the conventions with
// which it was trained, and the preparation of its images.

struct WeightsSource {
    std::string path;  // of the file
    nn::SourceNetwork network;
    std::vector<std::string> class_names;  // by number; empty: unknown
    options::Layer values;                 // of options
    /// Values of the source that no option takes, as "crop_mode border".
    std::vector<std::string> without_option;
};

/// The file that a restore path names: one checkpoint or file of weights. Empty if there is none, or several; the run
/// then reports what is wrong. Error(unsupported) for a network that this program does not have.
std::optional<WeightsSource> weights_source(const FileSystem& files, const std::string& restore_path);

/// Implements TaskOptions::options_of_files: train reads --init-path, commands that evaluate --restore-path.
options::Layer options_of_weights(options::Command command, const options::OwnWords& line, const options::Layer& config,
                                  std::shared_ptr<options::Findings>& findings);

/// The file whose values options_of_weights() has taken; null if there is none.
const WeightsSource* weights_source_of(const options::Resolution& run);

/// Adds a violation if the line contradicts the weights' network, and notices about what is taken from them. The data
/// set is known.
void settle_weights(options::Resolution& run);

}  // namespace cnntrain::tasks
