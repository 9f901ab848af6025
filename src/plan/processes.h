// Predicted rates of a training line on several processes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cnntrain/plan/data_parallel_time.h"
#include "cnntrain/plan/plan.h"
#include "cnntrain/plan/scaling_chart.h"
#include "plan/functions.h"
#include "plan/line.h"
#include "plan/profile.h"

namespace cnntrain::plan {

/// The step of one process, and the values that it sums with the others.
struct PlannedProcess {
    ProcessStep step;
    std::vector<ReadyBucket> buckets;
};

/// Gradients are complete when the last micro-batch's backward pass has done their function; statistics of the forward
/// pass when it begins. Buckets hold at most `bucket_bytes`, as comm::plan_buckets() says. With `images_per_second` all
/// times are scaled to that rate.
PlannedProcess planned_process(const FunctionTimes& times, const std::vector<SummedValue>& values,
                               const PlannedLine& line, std::int64_t bucket_bytes,
                               std::optional<double> images_per_second);

/// Every way to sum gradients. With one rank a node, or one node, only those that differ.
std::vector<ScalingCurve> predicted(const PlannedProcess& process, const ProcessPlan& plan);

/// The step, the gradients, the network, and a table for each route and wire.
std::string processes_text(const PlannedProcess& process, const ProcessPlan& plan, std::int64_t bucket_bytes,
                           const std::vector<ScalingCurve>& curves);

}  // namespace cnntrain::plan
