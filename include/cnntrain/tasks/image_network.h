// Facts about an image network from which another program can compute the same for a photo.
#pragma once

#include <optional>

#include "cnntrain/options/parse.h"
#include "cnntrain/weights/exports.h"

namespace cnntrain::tasks {

/// Empty for other tasks. Reads the data if only they say how many classes there are.
std::optional<weights::ImageNetwork> image_network(const options::ParseResult& arguments);

}  // namespace cnntrain::tasks
