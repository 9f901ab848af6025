#include "backend/ipu/training_run.h"

#include <utility>

#include "cnntrain/base/rng.h"

namespace cnntrain::ipu {

TrainingRun::TrainingRun(const Settings& settings, std::span<const backend::StepScalars> updates,
                         const backend::PartialUpdate& partial, const std::vector<SumOutput>& sums,
                         data::BatchSource& source, Infeed& infeed)
    : settings_(settings), updates_(updates), sums_(sums), infeed_(infeed), ended_(updates.empty()) {
    if (ended_) return;
    const std::int64_t batches = settings_.micro_batches * settings_.replicas;
    backend::check_partial(partial, updates_[0].iteration, batches);
    infeed_.begin(source, updates_[0].iteration * batches + partial.micro_batches, [this] {
        return !settings_.stops_within_updates ||
               !backend::stops_before(first_ + infeed_.taken() - taken_, settings_.stop_requested);
    });
    begin_update();
    first_ = partial.micro_batches / settings_.replicas;
    result_.samples = partial.samples;
    result_.sums = partial.sums;
}

void TrainingRun::begin_update() {
    first_ = 0;
    result_ = {};
    taken_ = infeed_.taken();
    samples_ = infeed_.samples();
    wait_seconds_ = infeed_.wait_seconds();
}

Command TrainingRun::next_command() {
    ended_ = ended_ || (update_ > 0 && stop_requested());
    if (ended_) return {};
    const std::int64_t count = settings_.micro_batches - first_;
    infeed_.expect(count);
    const auto iteration = static_cast<std::uint64_t>(updates_[update_].iteration);
    return {.micro_batches = static_cast<std::uint32_t>(count),
            .begins_update = first_ == 0 ? 1U : 0U,
            .seed = word_key(settings_.seed, RngStream::rounding, 0, iteration).first,
            .micro_batch = static_cast<std::uint32_t>(first_)};
}

void TrainingRun::take_sums(std::span<const float> sums) {
    if (ended_) return;
    for (std::size_t k = 0; k < sums_.size(); ++k)
        result_.sums[sums_[k].name] += static_cast<double>(sums[k]);
}

bool TrainingRun::verdict() {
    if (ended_) return false;
    std::int64_t complete = first_ + infeed_.taken() - taken_;
    if (!settings_.stops_within_updates) {
        infeed_.take_expected();
        complete = infeed_.failure() ? 0 : settings_.micro_batches;
    }
    result_.samples += infeed_.samples() - samples_;
    result_.input_wait_seconds = infeed_.wait_seconds() - wait_seconds_;
    result_.stopped = complete < settings_.micro_batches;
    if (result_.stopped && complete > 0) {
        stopped_within_ = {
            updates_[update_].iteration, complete * settings_.replicas, result_.samples, result_.sums, {}};
    }
    result_.stop_requested = result_.stopped || stop_requested();
    result_.counts = backend::settle(result_, settings_.check_finite);
    const bool counts = result_.counts;
    ended_ = !counts || result_.stop_requested || update_ + 1 == updates_.size();
    results_.push_back(std::move(result_));
    if (!ended_) {
        ++update_;
        begin_update();
    }
    return counts;
}

std::vector<backend::StepResult> TrainingRun::take_results() {
    return std::exchange(results_, {});
}

}  // namespace cnntrain::ipu
