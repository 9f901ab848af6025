// Defaults of training on a user's own photos, by their number and by whether weights are given.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/data/settings.h"
#include "cnntrain/options/parse.h"
#include "tasks/image_classification/resolve.h"

namespace cnntrain::tasks {

/// Sets the options that the user has left open in a training on photos in class folders, before the defaults of the
/// model, and adds one notice with these options and the reasons. Changes nothing for other data.
void fill_for_own_photos(Resolution& run);

/// Keys of the options that it has set.
std::vector<std::string> chosen_for_own_photos(const ParseResult& arguments);

}  // namespace cnntrain::tasks
