// Charts of a pipeline's schedule: which stage works on which micro-batch when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cnntrain/plan/pipeline_time.h"
#include "cnntrain/schedule/pipeline.h"

namespace cnntrain::plan {

/// A row per stage and a column per tick: "B0F3" is the backward pass of micro-batch 0, then the forward pass of
/// micro-batch 3. No line is longer than `width` columns unless there is no room for the first and the last tick; the
/// ticks in the middle that find no room are left out, and "..." stands for them.
std::string chart_text(const schedule::Pipeline& pipeline, std::int64_t micro_batches, std::size_t width);

/// An SVG file of its own: a row per stage and a box per pass, as long as the pass takes, with an axis in milliseconds.
/// Of more than `most` passes, the first and the last `most` / 2 are drawn.
std::string chart_svg(std::span<const TimedWork> work, std::string_view title, std::size_t most = 800);

}  // namespace cnntrain::plan
