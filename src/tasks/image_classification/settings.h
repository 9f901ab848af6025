// User settings of image classification, in addition to those of all tasks.
#pragma once

#include <string>
#include <vector>

#include "cnntrain/config/settings.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/nn/settings.h"
#include "cnntrain/optim/settings.h"

namespace cnntrain::tasks {

struct ImageSettings : config::OwnSettings {
    nn::ModelSettings model;
    nn::NetworkForm form = nn::NetworkForm::large_images;
    data::DataSettings data;
    optim::LearningRateSettings learning_rate;
    double label_smoothing = 0.0;  // share of the target distributed over all classes
    /// Names of the classes in the checkpoint that an evaluation reads; empty: it has none.
    std::vector<std::string> recorded_classes = {};
};

inline const ImageSettings& image_settings(const config::Settings& settings) {
    return settings.task.as<ImageSettings>();
}

}  // namespace cnntrain::tasks
