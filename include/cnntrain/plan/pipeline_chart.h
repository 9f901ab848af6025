// Charts of a pipeline's schedule: the micro-batch on which each stage works at each time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/plan/data_parallel_time.h"
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

// A chart of predicted samples/s and efficiency over the number of processes.

/// "flat, 32 bits, overlapped"
std::string name(const ReduceMethod& method);

struct ScalingPoint {
    std::int64_t processes = 1;
    DataParallelTime time;          // of equally fast processes whose input is there
    DataParallelTime with_waits{};  // the same with Waits
};

struct ScalingCurve {
    ReduceMethod method;
    std::vector<ScalingPoint> points;  // ascending by number of processes
};

/// A complete SVG file of the times with waits: samples/s above, efficiency below, both over the logarithm of the
/// number of processes. `single`, the samples/s of one process, defines the line of perfect scaling. All curves have
/// points at the same numbers of processes. `note` is printed below the plots, smaller than the title.
std::string scaling_svg(std::span<const ScalingCurve> curves, double single, const std::string& unit,
                        std::string_view title, std::string_view note);

}  // namespace cnntrain::plan
