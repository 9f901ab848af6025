// From the settings of image classification to its data and its graphs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/nn/model.h"
#include "cnntrain/train/task.h"
#include "tasks/image_classification/settings.h"

namespace cnntrain::tasks {

/// Real data: looks for the folder that holds the files.
data::InputSettings data_settings(const config::Settings& settings, const backend::Backend& backend,
                                  std::uint64_t seed);
/// The same without looking for it.
data::InputSettings data_settings_without_folder(const config::Settings& settings, const backend::Backend& backend,
                                                 std::uint64_t seed);
nn::NetworkSettings network_settings(const config::Settings& settings);
/// Of a network in one stage.
nn::BuildRequest build_request(const config::Settings& settings, const backend::Backend& backend,
                               const TensorDesc& images);

/// The network's functions in order, at which pipelines may be split. Error(usage) for a size that the family does not
/// have.
std::vector<std::string> image_functions(const config::Settings& settings);
/// Where a pipeline is usually split: residual networks before a ReLU, which then is recomputed rather than sent twice.
std::vector<std::string> usual_image_splits(const config::Settings& settings);

/// One whole weight update: forward, backward, optimiser, moving averages; with the passes that the backend wants.
graph::Graph training_graph(const config::Settings& settings, const backend::Backend& backend,
                            const TensorDesc& images);
/// Is it counted whether the true class is among the five likeliest?
inline bool reports_top_5(data::DatasetId dataset) {
    return data::dataset_info(dataset).reports_top_5;
}
/// Forward with moving averages; the extra output train::kLogits is marked when asked for.
graph::Graph evaluation_graph(const config::Settings& settings, const backend::Backend& backend,
                              const TensorDesc& images, bool with_logits = false);

}  // namespace cnntrain::tasks
