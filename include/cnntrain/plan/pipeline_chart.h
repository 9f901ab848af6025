// Charts of a pipeline's schedule: the micro-batch on which each stage works at each time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cnntrain/plan/pipeline_time.h"
#include "cnntrain/schedule/pipeline.h"

namespace cnntrain::plan {

/// A row per stage and a column per tick: "B0F3" means the backward pass of micro-batch 0, then the forward pass of
/// micro-batch 3. Lines are at most `width` columns long, if the first and the last tick fit; middle ticks that do not
/// fit are replaced by "...".
std::string chart_text(const schedule::Pipeline& pipeline, std::int64_t micro_batches, std::size_t width);

/// A complete SVG file: a row per stage, and a box per forward or backward pass with the length of its time, above an
/// axis in milliseconds. If there are more than `most` boxes, the first and last `most` / 2 are drawn.
std::string chart_svg(std::span<const TimedWork> work, std::string_view title, std::size_t most = 800);

}  // namespace cnntrain::plan
