// A chart of predicted images/s and efficiency over the number of processes.
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
    DataParallelTime time;
};

struct ScalingCurve {
    ReduceMethod method;
    std::vector<ScalingPoint> points;  // ascending numbers of processes
};

/// An SVG file of its own: images/s above, efficiency below, both over the logarithm of the processes, with `single`
/// images/s of one process as the line that perfect scaling would follow. All curves have points for the same numbers
/// of processes. `note` stands below, smaller than the title.
std::string scaling_svg(std::span<const ScalingCurve> curves, double single, std::string_view title,
                        std::string_view note);

}  // namespace cnntrain::plan
