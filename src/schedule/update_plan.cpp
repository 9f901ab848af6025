#include "cnntrain/schedule/update_plan.h"

#include <algorithm>

#include "cnntrain/base/checked.h"

namespace cnntrain::schedule {

Placement in_one_lane(const UpdatePlan& plan) {
    const std::int64_t together = std::min(plan.norm_span, plan.replicas);
    Placement placement;
    placement.micro_batches =
        checked_product(plan.accumulation, plan.replicas / together, "the number of micro-batches of a weight update");
    placement.stages = plan.stages();
    placement.schedule = plan.schedule;
    placement.samples =
        checked_product(plan.micro_batch, together, "the micro-batch of replicas that share statistics");
    return placement;
}

std::int64_t norm_processes(const UpdatePlan& plan) {
    return std::max<std::int64_t>(1, plan.norm_span / plan.replicas);
}

std::int64_t batches_in_flight(const Placement& placement) {
    return placement.pipelines * stash_depth(placement.pipeline(), 0);
}

}  // namespace cnntrain::schedule
