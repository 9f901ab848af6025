#include "insight/plan/pipeline_time.h"

#include <algorithm>
#include <string>

#include "cnntrain/base/error.h"

namespace cnntrain::plan {
namespace {

/// Number of micro-batches from which the time of the steady state is taken.
constexpr std::int64_t kSteady = 256;

double duration(const schedule::StageWork& work, std::span<const schedule::StageTimes> times) {
    const schedule::StageTimes& stage = times[static_cast<std::size_t>(work.stage)];
    return work.backward ? stage.backward_ms : stage.forward_ms;
}

double simulated_barrier_ms(const schedule::Pipeline& pipeline, std::int64_t micro_batches,
                            std::span<const schedule::StageTimes> times) {
    double whole = 0;
    const std::int64_t ticks = schedule::tick_count(pipeline, micro_batches);
    for (std::int64_t tick = 0; tick < ticks; ++tick) {
        std::vector<double> of_stage(times.size());
        for (const schedule::StageWork& work : work_at(pipeline, micro_batches, tick))
            of_stage[static_cast<std::size_t>(work.stage)] += duration(work, times);
        whole += *std::ranges::max_element(of_stage);
    }
    return whole;
}

/// Simulates one pipeline, one piece of work at a time.
class Simulation {
public:
    Simulation(const schedule::Pipeline& pipeline, std::int64_t micro_batches,
               std::span<const schedule::StageTimes> times, std::span<const std::int32_t> lane_of)
        : pipeline_(pipeline),
          times_(times),
          lane_of_(lane_of),
          lane_free_(static_cast<std::size_t>(*std::ranges::max_element(lane_of)) + 1),
          done_(static_cast<std::size_t>(pipeline.slots()),
                std::vector<double>(static_cast<std::size_t>(micro_batches))),
          workers_(lane_free_.size() > 1 ? schedule::Workers::several : schedule::Workers::one) {}

    TimedWork next(const schedule::StageWork& work) {
        const std::int32_t lane = lane_of_[static_cast<std::size_t>(work.stage)];
        const std::int32_t slot = schedule::slot_of(pipeline_, work.stage, work.backward);
        double& free = lane_free_[static_cast<std::size_t>(lane)];
        const double begin = std::max({free, done(slot - 1, work.micro_batch), place_free(slot, work.micro_batch)});
        free = begin + duration(work, times_);
        done_[static_cast<std::size_t>(slot)][static_cast<std::size_t>(work.micro_batch)] = free;
        return {work, lane, begin, free};
    }

private:
    /// End time of a slot; 0 for inputs of the pipeline.
    double done(std::int32_t slot, std::int64_t micro_batch) const {
        if (slot < 0 || micro_batch < 0) return 0;
        return done_[static_cast<std::size_t>(slot)][static_cast<std::size_t>(micro_batch)];
    }

    /// The time at which the buffer that the slot writes becomes free.
    double place_free(std::int32_t slot, std::int64_t micro_batch) const {
        if (slot < pipeline_.stages) {
            const std::int32_t last = pipeline_.slots() - 1 - slot;
            return done(last, micro_batch - schedule::in_flight(pipeline_, slot, last, workers_));
        }
        if (slot + 1 == pipeline_.slots()) return 0;  // the first stage's backward pass has no output buffer
        return done(slot + 1, micro_batch - schedule::ring_places(pipeline_, slot, slot + 1, workers_));
    }

    schedule::Pipeline pipeline_;
    std::span<const schedule::StageTimes> times_;
    std::span<const std::int32_t> lane_of_;
    std::vector<double> lane_free_;
    std::vector<std::vector<double>> done_;  // end times by slot and micro-batch
    schedule::Workers workers_;
};

void check_stages(const schedule::Pipeline& pipeline, std::span<const schedule::StageTimes> times) {
    CNNTRAIN_CHECK(pipeline.stages >= 1 && std::ssize(times) == pipeline.stages,
                   std::to_string(times.size()) + " times for " + std::to_string(pipeline.stages) + " stages");
}

double simulated_ms(const schedule::Pipeline& pipeline, std::int64_t micro_batches,
                    std::span<const schedule::StageTimes> times, std::span<const std::int32_t> lane_of) {
    double end = 0;
    for (const TimedWork& work : timeline(pipeline, micro_batches, times, lane_of))
        end = std::max(end, work.end_ms);
    return end;
}

/// The time of `micro_batches`, of which only the first ones are simulated.
template <typename Simulate> double continued(std::int64_t micro_batches, std::int64_t steady, Simulate simulate) {
    if (micro_batches <= 2 * steady) return simulate(micro_batches);
    // The remainder consists of whole steady periods.
    const std::int64_t first = steady + micro_batches % steady;
    const double length = simulate(first);
    const double period = simulate(first + steady) - length;
    const std::int64_t periods = (micro_batches - first) / steady;
    return length + period * static_cast<double>(periods);
}

double one_pipeline_ms(const schedule::Pipeline& pipeline, std::int64_t micro_batches,
                       std::span<const schedule::StageTimes> times, std::span<const std::int32_t> lane_of) {
    return continued(micro_batches, kSteady,
                     [&](std::int64_t count) { return simulated_ms(pipeline, count, times, lane_of); });
}

}  // namespace

double barrier_time_ms(const schedule::Pipeline& pipeline, std::int64_t micro_batches,
                       std::span<const schedule::StageTimes> times) {
    check_stages(pipeline, times);
    return continued(micro_batches, pipeline.slots(),
                     [&](std::int64_t count) { return simulated_barrier_ms(pipeline, count, times); });
}

std::vector<TimedWork> timeline(const schedule::Pipeline& pipeline, std::int64_t micro_batches,
                                std::span<const schedule::StageTimes> times, std::span<const std::int32_t> lane_of) {
    check_stages(pipeline, times);
    CNNTRAIN_CHECK(lane_of.size() == times.size() && *std::ranges::min_element(lane_of) >= 0,
                   "every stage needs a lane");
    const std::vector<schedule::StageWork> order = schedule::in_order(pipeline, micro_batches);
    Simulation simulation(pipeline, micro_batches, times, lane_of);
    std::vector<TimedWork> result;
    result.reserve(order.size());
    for (const schedule::StageWork& work : order)
        result.push_back(simulation.next(work));
    return result;
}

UpdateTime update_time(const schedule::Placement& plan, std::span<const schedule::StageTimes> times,
                       std::span<const std::int32_t> lane_of) {
    CNNTRAIN_CHECK(plan.pipelines >= 1 && plan.lanes >= 1 && plan.lanes % plan.pipelines == 0,
                   std::to_string(plan.lanes) + " lanes for " + std::to_string(plan.pipelines) + " pipelines");
    const std::int32_t lanes = plan.lanes / plan.pipelines;
    CNNTRAIN_CHECK(!lane_of.empty() && *std::ranges::max_element(lane_of) < lanes,
                   "a stage on a lane that is not there");
    const std::int64_t each = plan.micro_batches / plan.pipelines;
    const std::int64_t left = plan.micro_batches % plan.pipelines;
    UpdateTime result;
    result.total_ms = one_pipeline_ms(plan.pipeline(), each + (left > 0 ? 1 : 0), times, lane_of);
    result.busy.assign(static_cast<std::size_t>(plan.lanes), 0);
    for (std::int32_t pipeline = 0; pipeline < plan.pipelines; ++pipeline) {
        const auto count = static_cast<double>(each + (pipeline < left ? 1 : 0));
        for (std::size_t stage = 0; stage < times.size(); ++stage) {
            const std::int32_t lane = pipeline * lanes + lane_of[stage];
            result.busy[static_cast<std::size_t>(lane)] += count * times[stage].total() / result.total_ms;
        }
    }
    return result;
}

}  // namespace cnntrain::plan
