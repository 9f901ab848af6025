#include "train/runs/update_progress.h"

#include <chrono>
#include <utility>

namespace cnntrain::train {

UpdateProgress::UpdateProgress(data::BatchSource& source, metrics::Observer& observer, Facts facts,
                               std::function<double()> seconds)
    : source_(source), observer_(observer), facts_(std::move(facts)), seconds_(std::move(seconds)) {
    if (seconds_) return;
    seconds_ = [] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    };
}

void UpdateProgress::begin(std::int64_t iteration, std::int64_t done) {
    unit_ = "micro-batches of " + facts_.update + " " + std::to_string(iteration);
    start_ = seconds_();
    first_ = taken_ = done;
    samples_ = 0;
}

data::Batch UpdateProgress::next() {
    report();
    data::Batch batch = source_.next();
    ++taken_;
    samples_ += batch.valid_count;
    return batch;
}

/// Before a micro-batch is taken: those before it are done.
void UpdateProgress::report() const {
    const double elapsed = seconds_() - start_;
    if (elapsed < kLongUpdateSeconds) return;
    observer_.progress({.done = taken_,
                        .first = first_,
                        .total = facts_.micro_batches,
                        .rate = static_cast<double>(samples_ * facts_.ranks) / elapsed,
                        .elapsed_seconds = elapsed,
                        .unit = unit_,
                        .rate_unit = facts_.samples,
                        .is_silent = true});
}

}  // namespace cnntrain::train
