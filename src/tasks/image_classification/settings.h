// User settings of image classification, in addition to those of all tasks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/config/settings.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/nn/settings.h"
#include "cnntrain/optim/settings.h"

namespace cnntrain::tasks {

struct ImageSettings : config::OwnSettings {
    nn::ModelSettings model;
    data::DataSettings data;
    optim::LearningRateSettings learning_rate;
    double label_smoothing = 0.0;                      // share of the target distributed over the others
    bool norm_recomputation = false;                   // of results of norms, in the backward pass
    std::string class_weights = {};                    // "balanced", a file, or numbers (class_weights.h); empty: none
    std::optional<nn::NetworkForm> network_form = {};  // empty: that of the data set
    /// Classes of the weights that an evaluation reads, if another program has made them; 0: those of the data.
    std::int64_t source_classes = 0;
    /// Names of the classes in the checkpoint that an evaluation reads; empty: it has none.
    std::vector<std::string> recorded_classes = {};
};

inline nn::NetworkForm network_form(const ImageSettings& settings) {
    return settings.network_form.value_or(data::dataset_info(settings.data.dataset).network_form);
}

inline const ImageSettings& image_settings(const config::Settings& settings) {
    return settings.task.as<ImageSettings>();
}

}  // namespace cnntrain::tasks
