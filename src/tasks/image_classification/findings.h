// What the steps of image classification find in files: each file is read once for a line.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cnntrain/config/task_options.h"
#include "cnntrain/data/resolve.h"
#include "tasks/image_classification/weights_source.h"

namespace cnntrain::tasks {

struct ImageFindings : config::Findings {
    std::shared_ptr<data::FoundPhotos> photos = data::found_photos();
    std::optional<std::string> weights_path = {};  // as the line names it; empty: no weights were looked for
    std::optional<WeightsSource> weights = {};     // of weights_path
};

/// Made by the first step that asks.
ImageFindings& findings_of(std::shared_ptr<config::Findings>& findings);
/// After the step `fill` has begun.
ImageFindings& findings_of(const config::Resolution& run);

}  // namespace cnntrain::tasks
