// What a file tells about its network besides the weights.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/tasks/image_network.h"

namespace cnntrain::exports {

/// Metadata of an ONNX file: "preprocessing" and "classes" are JSON, "checkpoint" and "network" are texts.
/// `prepares_photos`: the file does itself what "preprocessing" says.
std::map<std::string, std::string> onnx_metadata(const std::optional<tasks::ImageNetwork>& network,
                                                 const std::vector<std::string>& classes, bool prepares_photos);

/// timm's config.json.
std::string timm_config(const std::string& architecture, const tasks::ImageNetwork& network,
                        const std::vector<std::string>& classes);

}  // namespace cnntrain::exports
