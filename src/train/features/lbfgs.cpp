#include "train/features/lbfgs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "cnntrain/base/error.h"

namespace cnntrain::train {

namespace {

constexpr std::size_t kPairs = 8;      // steps that approximate the curvature
constexpr std::size_t kPatience = 10;  // iterations over which the value must fall
constexpr int kMostTrials = 30;        // of a line search
constexpr double kDecrease = 1e-4;     // share of the decrease that the slope promises
constexpr double kCurvature = 0.9;     // share of the slope that may be left
constexpr double kRounding = 1e-7;     // share of the value that rounding may change

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// y += factor * x
void add(double factor, const Vector& x, Vector& y) {
    for (std::size_t i = 0; i < x.size(); ++i)
        y[i] += factor * x[i];
}

double largest(const Vector& x) {
    double most = 0;
    for (const double element : x)
        most = std::max(most, std::abs(element));
    return most;
}

struct Pair {
    Vector step, change;  // of the point, and of the gradient along it
    double product = 0;   // of both
};

/// The two loops that apply the approximate inverse Hessian to -gradient.
Vector descent_direction(const Vector& gradient, const std::deque<Pair>& pairs) {
    Vector direction(gradient.size());
    std::ranges::transform(gradient, direction.begin(), std::negate<>());
    std::vector<double> factors(pairs.size());
    for (std::size_t i = pairs.size(); i-- > 0;) {
        factors[i] = dot(pairs[i].step, direction) / pairs[i].product;
        add(-factors[i], pairs[i].change, direction);
    }
    const double scale = pairs.empty() ? 1 / std::max(1.0, std::sqrt(dot(gradient, gradient)))
                                       : pairs.back().product / dot(pairs.back().change, pairs.back().change);
    for (double& element : direction)
        element *= scale;
    for (std::size_t i = 0; i < pairs.size(); ++i)
        add(factors[i] - dot(pairs[i].change, direction) / pairs[i].product, pairs[i].step, direction);
    return direction;
}

struct SearchPoint {
    Vector at, gradient;
    double value = 0;
};

/// A point along the direction with enough decrease and enough of the slope used up, by bisection. Where rounding hides
/// the decrease, the slope decides (the approximate conditions of Hager and Zhang). Nothing if there is no such point.
std::optional<SearchPoint> line_search(const SmoothFunction& function, const SearchPoint& from,
                                       const Vector& direction) {
    const double slope = dot(from.gradient, direction);
    if (!(slope < 0)) return std::nullopt;
    double low = 0;
    double high = std::numeric_limits<double>::infinity();
    double length = 1;
    SearchPoint next{Vector(from.at.size()), Vector(from.at.size())};
    for (int trial = 0; trial < kMostTrials; ++trial) {
        next.at = from.at;
        add(length, direction, next.at);
        next.value = function(next.at, next.gradient);
        const double next_slope = dot(next.gradient, direction);
        const bool is_level = next.value <= from.value + kRounding * std::abs(from.value);
        const bool falls = next.value <= from.value + kDecrease * length * slope ||  // false for NaN
                           (is_level && next_slope <= (2 * kDecrease - 1) * slope);
        if (falls && next_slope >= kCurvature * slope) return next;
        (falls ? low : high) = length;
        length = std::isinf(high) ? 2 * length : (low + high) / 2;
    }
    return std::nullopt;
}

}  // namespace

Minimum minimise(const SmoothFunction& function, std::vector<double> start, const MinimiseSettings& settings) {
    SearchPoint now{std::move(start), {}};
    now.gradient.resize(now.at.size());
    now.value = function(now.at, now.gradient);
    std::deque<Pair> pairs;
    std::deque<double> values = {now.value};  // of the last iterations
    Minimum result;
    while (result.iterations < settings.most_iterations) {
        result.converged =
            largest(now.gradient) <= settings.gradient_tolerance ||
            (values.size() > kPatience && values.front() - now.value <= settings.value_tolerance * std::abs(now.value));
        if (result.converged) break;
        if (settings.stop_requested && settings.stop_requested()) throw Interrupted();
        std::optional<SearchPoint> next = line_search(function, now, descent_direction(now.gradient, pairs));
        if (!next && pairs.empty()) break;
        if (!next) {  // once more along the gradient
            pairs.clear();
            continue;
        }
        ++result.iterations;
        Pair pair{next->at, next->gradient};
        add(-1, now.at, pair.step);
        add(-1, now.gradient, pair.change);
        pair.product = dot(pair.step, pair.change);
        if (pair.product > std::numeric_limits<double>::epsilon() * dot(pair.change, pair.change))
            pairs.push_back(std::move(pair));
        if (pairs.size() > kPairs) pairs.pop_front();
        now = std::move(*next);
        values.push_back(now.value);
        if (values.size() > kPatience + 1) values.pop_front();
    }
    result.at = std::move(now.at);
    result.value = now.value;
    return result;
}

}  // namespace cnntrain::train
