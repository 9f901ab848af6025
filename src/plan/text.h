// Parts of a plan's text.
#pragma once

#include <string>

namespace cnntrain::plan {

/// "Model:         resnet 50, ..." with a line end.
std::string topic(const std::string& name, const std::string& text);
/// For example "81.0 %".
std::string percent(double share);

}  // namespace cnntrain::plan
