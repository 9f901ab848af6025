#include "insight/plan/order_statistics.h"

#include <cmath>
#include <numbers>
#include <numeric>

#include "cnntrain/base/error.h"

namespace cnntrain::plan {

/// The integral of 1 - P(max <= x) over the positive half axis minus that of P(max <= x) over the negative one.
double expected_maximum(std::int64_t count) {
    CNNTRAIN_CHECK(count >= 1, "a maximum of at least one number");
    constexpr double kStep = 1.0 / 128;
    constexpr int kSteps = 10 * 128;  // beyond 10 deviations nothing is left
    const auto n = static_cast<double>(count);
    double integral = 0;
    for (int i = 0; i <= kSteps; ++i) {
        const double tail = 0.5 * std::erfc(i * kStep / std::numbers::sqrt2);  // P(one > x) = P(one < -x)
        const double above = -std::expm1(n * std::log1p(-tail));
        const double below = std::exp(n * std::log(tail));
        integral += (i == 0 ? 0.5 : 1) * (above - below);
    }
    return integral * kStep;
}

double relative_deviation(std::span<const double> numbers) {
    if (numbers.size() < 2) return 0;
    const auto count = static_cast<double>(numbers.size());
    const double mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / count;
    double squares = 0;
    for (const double number : numbers)
        squares += (number - mean) * (number - mean);
    return std::sqrt(squares / (count - 1)) / mean;
}

}  // namespace cnntrain::plan
