#include "cnntrain/base/normal.h"

#include <cmath>
#include <numbers>

#include "cnntrain/base/error.h"

namespace cnntrain {

double normal_quantile(double p) {
    CNNTRAIN_CHECK(p > 0 && p < 1, "a quantile needs 0 < p < 1");
    if (p > 0.5) return -normal_quantile(1 - p);
    // Below zero the distribution function is convex, so Newton's steps from zero fall to the quantile and never past
    // it.
    const double peak = 1 / std::sqrt(2 * std::numbers::pi);
    double z = 0;
    while (true) {
        const double below = std::erfc(-z / std::numbers::sqrt2) / 2;
        const double next = z - (below - p) / (peak * std::exp(-z * z / 2));
        if (!(next < z)) return z;
        z = next;
    }
}

std::vector<double> normal_quantiles(std::int64_t count) {
    std::vector<double> result;
    for (std::int64_t i = 0; i < count; ++i)
        result.push_back(normal_quantile((static_cast<double>(i) + 0.5) / static_cast<double>(count)));
    return result;
}

}  // namespace cnntrain
