// The option rows of text classification.
#pragma once

#include "tasks/bert/options.h"
#include "tasks/text_classification/settings.h"

namespace cnntrain::tasks {

inline constexpr std::string_view kTextsGroup = "Texts";  // a group's title

/// All, in the order of help.
const OptionSet& text_options();

}  // namespace cnntrain::tasks
