// Parts of a plan as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "cnntrain/parallel/pipeline.h"

namespace cnntrain::plan {

/// The schedule, with a row per stage and a column per tick: "B0F3" means the backward pass of micro-batch 0, then the
/// forward pass of micro-batch 3. Lines are at most `width` columns long, if the first and the last tick fit; middle
/// ticks that do not fit are replaced by "...".
std::string chart_text(const schedule::Pipeline& pipeline, std::int64_t micro_batches, std::size_t width);

/// "Model:         resnet 50, ..." with a line end.
std::string topic(const std::string& name, const std::string& text);
/// Formats a share as "81.0 %".
std::string percent(double share);

}  // namespace cnntrain::plan
