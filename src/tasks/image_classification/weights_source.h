// Facts about the network of a file of weights, as values of options: the network's kind and size, the conventions with
// which it was trained, and the preparation of its images.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/options/task_options.h"

namespace cnntrain::tasks {

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
