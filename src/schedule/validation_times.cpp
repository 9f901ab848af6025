#include "cnntrain/schedule/validation_times.h"

#include <algorithm>
#include <cmath>

#include "cnntrain/base/error.h"

namespace cnntrain::schedule {
namespace {

double period_of(const ValidationTimes& times, const RunPlan& plan) {
    CNNTRAIN_CHECK(times.any(), "a run without validations has no times of them");
    const double period = times.updates_per_validation > 0
                              ? static_cast<double>(times.updates_per_validation)
                              : times.epochs_per_validation * static_cast<double>(plan.iterations_per_epoch);
    return std::max(1.0, std::min(period, static_cast<double>(plan.iterations)));
}

}  // namespace

PlannedValidations::PlannedValidations(const ValidationTimes& times, const RunPlan& plan)
    : period_(period_of(times, plan)), end_(plan.iterations) {}

std::int64_t PlannedValidations::multiple(std::int64_t k) const {
    const double exact = static_cast<double>(k) * period_;
    const double end = static_cast<double>(end_);
    return end - exact < period_ / 2 ? end_ : static_cast<std::int64_t>(std::round(exact));
}

std::int64_t PlannedValidations::next(std::int64_t iteration) const {
    auto k = std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(iteration) / period_));
    while (multiple(k) <= iteration)
        ++k;
    return multiple(k);
}

std::int64_t PlannedValidations::count() const {
    if (end_ == 0) return 0;
    auto k = std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(end_) / period_) - 1);
    while (multiple(k) < end_)
        ++k;
    return k;
}

}  // namespace cnntrain::schedule
