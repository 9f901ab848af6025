// The option rows of text classification.
#pragma once

#include "tasks/bert/options.h"
#include "tasks/text_classification/settings.h"

namespace cnntrain::tasks {

inline constexpr std::string_view kTextsGroup = "Texts";  // title of a group

/// All options, in the order of the help text.
const OptionSet& text_options();

}  // namespace cnntrain::tasks
