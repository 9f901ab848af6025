// Pieces of a plan's text.
#pragma once

#include <cstdint>
#include <string>

namespace cnntrain::plan {

/// "Model:         resnet 50, ..." with a line end.
std::string topic(const std::string& name, const std::string& text);
/// "1 stage", "2 stages".
std::string counted(std::int64_t count, const std::string& what, const std::string& ending = "s");
/// "81.0 %"
std::string percent(double share);

}  // namespace cnntrain::plan
