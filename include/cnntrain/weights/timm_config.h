// timm's config.json, which lies beside model.safetensors: the architecture, the classes, and how the network's input
// is made of a photo.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/io.h"

namespace cnntrain::weights {

/// Values that the file does not have are empty.
struct TimmConfig {
    std::string architecture;              // "tf_efficientnet_b0", perhaps with a tag: "resnet50.a1_in1k"
    std::int64_t classes = 0;              // 0: unknown
    std::vector<std::string> class_names;  // by number
    std::optional<std::int64_t> image_size;
    std::vector<double> mean;  // of R, G, B in 0..1; three or none
    std::vector<double> deviation;
    std::optional<double> crop_fraction;
    std::string interpolation;  // "bicubic"
    std::string crop_mode;      // "center", "squash", "border"

    bool operator==(const TimmConfig&) const = default;
};

/// `path`: for messages. Empty for another program's config.json. Error(data) names the key whose value makes no sense.
std::optional<TimmConfig> parse_timm_config(std::string_view text, const std::string& path);

/// The config.json in the folder of a file of weights; empty if there is none, or another program's.
std::optional<TimmConfig> timm_config_beside(const FileSystem& files, const std::string& weights);

}  // namespace cnntrain::weights
