#include "backend/ipu/training_run.h"

#include <algorithm>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/rng.h"

namespace cnntrain::ipu {

namespace {

constexpr double kSecondsOfCommand = 2;
constexpr std::int64_t kMostMicroBatches = 1 << 16;
constexpr std::size_t kMostCommands = 64;

}  // namespace

std::int64_t CommandLength::micro_batches() const {
    if (seconds_each_ <= 0) return 1;
    const double fit = kSecondsOfCommand / seconds_each_;
    return fit >= static_cast<double>(kMostMicroBatches) ? kMostMicroBatches
                                                         : std::max<std::int64_t>(static_cast<std::int64_t>(fit), 1);
}

void CommandLength::took(std::int64_t micro_batches, double seconds) {
    if (micro_batches > 0) seconds_each_ = seconds / static_cast<double>(micro_batches);
}

TrainingRun::TrainingRun(const Settings& settings, std::span<const backend::StepScalars> updates,
                         const backend::PartialUpdate& partial, const std::vector<SumOutput>& sums, Infeed& infeed)
    : settings_(settings), updates_(updates), sum_outputs_(sums), infeed_(infeed), ended_(updates.empty()) {
    if (ended_) return;
    begin_update();
    if (partial.empty()) return;
    backend::check_partial(partial, updates_[0].iteration, settings_.micro_batches);
    done_ = partial.micro_batches;
    result_.samples = partial.samples;
    result_.sums = partial.sums;
}

void TrainingRun::begin_update() {
    done_ = 0;
    result_ = {};
    samples_before_ = infeed_.samples();
    waited_before_ = infeed_.wait_seconds();
}

std::uint32_t TrainingRun::plan(std::int64_t micro_batches) {
    planned_.clear();
    command_ = 0;
    if (ended_) return 0;
    std::int64_t of_run = 0;
    std::int64_t left = settings_.micro_batches - done_;
    for (std::size_t update = update_; update < updates_.size(); ++update) {
        // An update whose micro-batches are all there still needs its verdict.
        do {
            if (planned_.size() == kMostCommands || of_run >= micro_batches) {
                if (!planned_.empty()) return static_cast<std::uint32_t>(planned_.size());
            }
            planned_.push_back(std::min(left, micro_batches));
            of_run += planned_.back();
            left -= planned_.back();
        } while (left > 0);
        left = settings_.micro_batches;
    }
    return static_cast<std::uint32_t>(planned_.size());
}

void TrainingRun::stop() {
    ended_ = true;
    if (done_ == 0 && update_ > 0) return;  // between updates
    result_.stopped = true;
    result_.stop_requested = true;
    result_.counts = false;
    if (done_ > 0 && !infeed_.failure())
        stopped_within_ = {updates_[update_].iteration, done_, result_.samples, result_.sums, {}};
    results_.push_back(std::move(result_));
}

Command TrainingRun::next_command() {
    running_ = 0;
    if (!ended_ && (done_ > 0 || update_ > 0) && stop_requested()) stop();
    if (ended_) return {};
    CNNTRAIN_CHECK(command_ < planned_.size(), "the device wants more commands than were planned");
    running_ = planned_[command_++];
    infeed_.expect(running_);
    // Any two words will do that differ from update to update.
    const WordKey seed =
        word_key(settings_.seed, RngStream::rounding, 0, static_cast<std::uint64_t>(updates_[update_].iteration));
    return {static_cast<std::uint32_t>(running_), done_ == 0 ? 1U : 0U, seed.first, static_cast<std::uint32_t>(done_)};
}

void TrainingRun::take_sums(std::span<const float> sums) {
    if (ended_ || infeed_.failure()) return;
    for (std::size_t k = 0; k < sum_outputs_.size(); ++k)
        result_.sums[sum_outputs_[k].name] += static_cast<double>(sums[k]);
}

bool TrainingRun::verdict() {
    if (ended_) return false;
    if (infeed_.failure()) {
        stop();
        return false;
    }
    done_ += running_;
    all_done_ += running_;
    result_.samples += infeed_.samples() - samples_before_;
    result_.input_wait_seconds += infeed_.wait_seconds() - waited_before_;
    samples_before_ = infeed_.samples();
    waited_before_ = infeed_.wait_seconds();
    if (done_ < settings_.micro_batches) return false;
    result_.stop_requested = stop_requested();
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
