// A chart of predicted samples/s and efficiency over the number of processes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/plan/data_parallel_time.h"

namespace cnntrain::plan {

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
