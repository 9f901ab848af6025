// Facts about an image network from which another program can compute the same for a photo.
#pragma once

#include <optional>

#include "cnntrain/config/parse.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/graph/settings.h"

namespace cnntrain::tasks {

struct ImageNetwork {
    nn::NetworkSettings network;
    data::DataSettings images;
};

/// Empty for other tasks. Reads the data if only they say how many classes there are.
std::optional<ImageNetwork> image_network(const config::ParseResult& arguments);

}  // namespace cnntrain::tasks
