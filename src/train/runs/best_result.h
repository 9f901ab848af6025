// The best validation of a training, and how many followed it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cnntrain/train/settings.h"

namespace cnntrain::train {

/// True for results of which less is better.
inline bool less_is_better(Metric metric) {
    return metric == Metric::loss;
}

class BestResult {
public:
    explicit BestResult(Metric metric) : metric_(metric) {}

    struct Point {
        double value = 0;
        std::int64_t iteration = 0;
        bool operator==(const Point&) const = default;
    };

    /// Counts a validation. True if it is better than all before. A value that is not finite is never better.
    bool add(double value, std::int64_t iteration);

    Metric metric() const { return metric_; }
    const std::optional<Point>& best() const { return best_; }
    /// Validations since the best one, or all if none was finite.
    std::int64_t without_better() const { return without_better_; }
    /// The iteration that was validated last; 0: none.
    std::int64_t last() const { return last_; }

    /// As text for a checkpoint's metadata.
    std::string state() const;
    /// Takes a state over. False if it goes by another metric: then only last() is taken over. Error(data) if state()
    /// did not write the text.
    bool restore(const std::string& state);

private:
    Metric metric_;
    std::optional<Point> best_;
    std::int64_t without_better_ = 0;
    std::int64_t last_ = 0;
};

}  // namespace cnntrain::train
