// When a training run validates.
#pragma once

#include <cstdint>

#include "cnntrain/schedule/run_plan.h"
#include "cnntrain/schedule/settings.h"

namespace cnntrain::schedule {

/// Validations during a run of T iterations: at multiples of a period, rounded to whole iterations, and at T. Where one
/// is nearer to T than half a period, it is left out: the validation at T replaces it, as the last checkpoint replaces
/// one of the last epoch.
class PlannedValidations {
public:
    /// `times.any()` must hold. The period is `updates_per_validation`, or `epochs_per_validation` times the updates of
    /// an epoch; at least 1.
    PlannedValidations(const ValidationTimes& times, const RunPlan& plan);

    double period() const { return period_; }
    /// The first validation after `iteration` (0 <= iteration < T).
    std::int64_t next(std::int64_t iteration) const;
    /// True for 1 <= iteration <= T with a validation.
    bool is_at(std::int64_t iteration) const { return iteration > 0 && next(iteration - 1) == iteration; }
    /// Number of validations of the whole run.
    std::int64_t count() const;

private:
    /// The k-th multiple, k >= 1; T if T replaces it.
    std::int64_t multiple(std::int64_t k) const;

    double period_;
    std::int64_t end_;
};

}  // namespace cnntrain::schedule
