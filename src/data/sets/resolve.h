// Functions that find, count and open the files of each image data set. One row for each row of kDatasets.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/data/dataset.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/data/settings.h"

namespace cnntrain::data {

struct ImageSet {
    DatasetId id;
    /// named in messages if nothing is found
    std::string_view first_training_file;
    bool (*holds)(DatasetId id, const std::string& folder, Split split);
    /// Error(data) names the data set, the folder and the first missing file.
    std::vector<std::string> (*files)(const InputSettings& settings, Split split);
    /// Counts the samples in settings.folder. Throws Error(data) if files are missing or damaged.
    SampleCount (*count)(const InputSettings& settings, Split split);
    std::shared_ptr<const Dataset> (*open)(const InputSettings& settings, Split split, const PixelFormat& format);
    /// Names of the classes in settings.folder, by label; empty if the data do not name them. Throws Error(data) if
    /// there are fewer than two.
    std::vector<std::string> (*classes)(const InputSettings& settings) = nullptr;
};

const ImageSet& image_set(DatasetId id);

/// Names (not paths) in a folder, sorted; empty if the folder cannot be read.
std::vector<std::string> names_in(const std::string& folder);

}  // namespace cnntrain::data
