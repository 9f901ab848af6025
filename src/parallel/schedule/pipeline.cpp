#include "cnntrain/parallel/pipeline.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "cnntrain/base/checked.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/numbers.h"
#include "cnntrain/base/text.h"

namespace cnntrain::schedule {
namespace {

/// Number of ticks between consecutive micro-batches in the same slot.
std::int64_t period(const Pipeline& pipeline) {
    switch (pipeline.schedule) {
        case PipelineSchedule::grouped:
            return 1;
        case PipelineSchedule::interleaved:
            return 2;
        case PipelineSchedule::sequential:
            return pipeline.slots();
    }
    throw Error(ErrorKind::internal, "unknown pipeline schedule");
}

StageWork work_of(const Pipeline& pipeline, std::int32_t slot, std::int64_t micro_batch) {
    const bool backward = slot >= pipeline.stages;
    return {backward ? pipeline.slots() - 1 - slot : slot, backward, micro_batch};
}

}  // namespace

std::int32_t slot_of(const Pipeline& pipeline, std::int32_t stage, bool backward) {
    return backward ? pipeline.slots() - 1 - stage : stage;
}

std::int64_t tick_of(const Pipeline& pipeline, const StageWork& work) {
    return period(pipeline) * work.micro_batch + slot_of(pipeline, work.stage, work.backward);
}

std::int64_t tick_count(const Pipeline& pipeline, std::int64_t micro_batches) {
    const std::int64_t last_begins = checked_product(period(pipeline), micro_batches - 1, "the number of ticks");
    if (last_begins > std::numeric_limits<std::int64_t>::max() - pipeline.slots())
        fail_too_large("the number of ticks", std::to_string(last_begins) + " + " + std::to_string(pipeline.slots()));
    return last_begins + pipeline.slots();
}

std::vector<StageWork> work_at(const Pipeline& pipeline, std::int64_t micro_batches, std::int64_t tick) {
    std::vector<StageWork> work;
    const std::int64_t step = period(pipeline);
    for (std::int32_t slot = pipeline.slots() - 1; slot >= 0; --slot) {
        const std::int64_t since = tick - slot;
        if (since < 0 || since % step != 0 || since / step >= micro_batches) continue;
        work.push_back(work_of(pipeline, slot, since / step));
    }
    return work;
}

std::optional<StageWork> WorkOrder::operator()() {
    const std::int64_t step = period(pipeline_);
    for (const std::int64_t ticks = tick_count(pipeline_, micro_batches_); tick_ < ticks; ++tick_) {
        while (slot_ > 0) {
            const std::int64_t since = tick_ - --slot_;
            if (since >= 0 && since % step == 0 && since / step < micro_batches_)
                return work_of(pipeline_, slot_, since / step);
        }
        slot_ = pipeline_.slots();
    }
    return std::nullopt;
}

std::vector<StageWork> in_order(const Pipeline& pipeline, std::int64_t micro_batches) {
    std::vector<StageWork> order;
    order.reserve(static_cast<std::size_t>(
        checked_product(pipeline.slots(), micro_batches, "the number of passes of a weight update")));
    for (WorkOrder next(pipeline, micro_batches); const auto work = next();)
        order.push_back(*work);
    return order;
}

std::int64_t in_flight(const Pipeline& pipeline, std::int32_t first, std::int32_t last, Workers workers) {
    CNNTRAIN_CHECK(0 <= first && first <= last && last < pipeline.slots(), "slots outside the pipeline");
    const std::int64_t ticks = last - first;
    if (workers == Workers::several) return ticks / period(pipeline) + 1;
    return std::max<std::int64_t>(1, (ticks + period(pipeline) - 1) / period(pipeline));
}

std::int64_t ring_places(const Pipeline& pipeline, std::int32_t first, std::int32_t last, Workers workers) {
    const bool hands_over =
        first >= pipeline.stages && workers == Workers::several && pipeline.schedule != PipelineSchedule::sequential;
    return in_flight(pipeline, first, last, workers) + (hands_over ? 1 : 0);
}

std::int64_t stash_depth(const Pipeline& pipeline, std::int32_t stage) {
    return in_flight(pipeline, stage, slot_of(pipeline, stage, true), Workers::one);
}

std::int64_t micro_batch_unit(const Pipeline& pipeline) {
    return pipeline.slots() / period(pipeline);
}

void check_micro_batches(const Pipeline& pipeline, std::int64_t micro_batches) {
    const std::int64_t unit = micro_batch_unit(pipeline);
    if (micro_batches >= 1 && micro_batches % unit == 0) return;
    throw Error(ErrorKind::usage, "--pipeline-schedule " + std::string(spelling(pipeline.schedule)) + " with " +
                                      std::to_string(pipeline.stages) +
                                      " stages needs a --gradient-accumulation-count that is a multiple of " +
                                      std::to_string(unit) + ", not " + std::to_string(micro_batches) +
                                      "; the nearest are " + joined(multiples_near(unit, micro_batches), " or "));
}

double bubble(const Pipeline& pipeline, std::int64_t micro_batches, const StageTimes& each) {
    const auto count = static_cast<double>(micro_batches);
    const auto stages = static_cast<double>(pipeline.stages);
    const double longer = std::max(each.forward_ms, each.backward_ms);
    double whole = 0;
    switch (pipeline.schedule) {
        case PipelineSchedule::grouped:
            whole = (count + stages - 1) * each.total();
            break;
        case PipelineSchedule::interleaved:
            // Fill and drain take K forward and K backward ticks; in the ticks in between, some stages go forward and
            // others backward.
            whole = stages * each.total() + (2 * count - 2) * (pipeline.stages > 1 ? longer : each.total() / 2);
            break;
        case PipelineSchedule::sequential:
            whole = count * stages * each.total();
            break;
    }
    return 1 - count * each.total() / whole;
}

std::vector<std::int32_t> place_stages(std::span<const double> costs, std::int32_t lanes) {
    CNNTRAIN_CHECK(lanes >= 1, "stages need a lane");
    std::vector<std::size_t> longest_first(costs.size());
    std::iota(longest_first.begin(), longest_first.end(), 0);
    std::ranges::stable_sort(longest_first, [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
    std::vector<double> load(static_cast<std::size_t>(lanes));
    std::vector<std::int32_t> lane_of(costs.size());
    for (const std::size_t stage : longest_first) {
        const auto least = std::ranges::min_element(load);
        *least += costs[stage];
        lane_of[stage] = static_cast<std::int32_t>(least - load.begin());
    }
    return lane_of;
}

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
