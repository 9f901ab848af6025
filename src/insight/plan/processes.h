// Predicts the rates of a training command line on several processes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cnntrain/insight/plan.h"
#include "insight/plan/functions.h"
#include "insight/plan/line.h"
#include "insight/plan/times.h"

namespace cnntrain::plan {

// Order statistics: how far the largest of several random numbers lies above their mean. Pure numbers.

/// Expected maximum of `count` independent standard normal variables (David and Nagaraja 2003, "Order Statistics",
/// section 3.1): 0 for 1, 0.56 for 2, 1.03 for 4, 3.04 for 512. `count` is at least 1.
double expected_maximum(std::int64_t count);

/// Standard deviation of the numbers over their mean, estimated from these samples; 0 for fewer than 2. The mean is
/// positive.
double relative_deviation(std::span<const double> numbers);

struct ScalingPoint {
    std::int64_t processes = 1;
    DataParallelTime time;          // of equally fast processes whose input is there
    DataParallelTime with_waits{};  // the same with Waits
};

struct ScalingCurve {
    ReduceMethod method;
    std::vector<ScalingPoint> points;  // ascending by number of processes
};

/// The step of one process, and the values that it sums with the others.
struct PlannedProcess {
    ProcessStep step;
    std::vector<ReadyBucket> buckets;
    Waits waits{};
};

/// Gradients are complete when the last micro-batch's backward pass has finished their function; statistics of the
/// forward pass when that backward pass begins. Buckets hold at most `bucket_bytes`, as in comm::plan_buckets(). With
/// `samples_per_second`, all times are scaled to that rate.
PlannedProcess planned_process(const FunctionTimes& times, const std::vector<SummedValue>& values,
                               const PlannedLine& line, std::int64_t bucket_bytes,
                               std::optional<double> samples_per_second);

/// Waits of the step: the spread of its times is the one that is given, else the measured one, else none.
Waits waits_of(const ProcessStep& step, const FunctionTimes& times, const ProcessPlan& plan);

/// One curve per method of summing gradients. With one rank per node, or one node, only those that differ.
std::vector<ScalingCurve> predicted(const PlannedProcess& process, const ProcessPlan& plan);

/// The step, the gradients, the network, and a table for each route and wire. `unit`: samples in the plural.
std::string processes_text(const PlannedProcess& process, const ProcessPlan& plan, std::int64_t bucket_bytes,
                           const std::vector<ScalingCurve>& curves, const std::string& unit);

}  // namespace cnntrain::plan
