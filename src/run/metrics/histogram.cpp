#include "cnntrain/run/observer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

namespace cnntrain::metrics {
namespace {

/// Computes sums, minimum and maximum; returns false if any value is not finite.
bool measure(std::span<const float> values, Histogram& histogram) {
    histogram.least = histogram.most = static_cast<double>(values[0]);
    for (const float value : values) {
        if (!std::isfinite(value)) return false;
        const auto x = static_cast<double>(value);
        histogram.least = std::min(histogram.least, x);
        histogram.most = std::max(histogram.most, x);
        histogram.sum += x;
        histogram.sum_of_squares += x * x;
    }
    return true;
}

void fill_bins(std::span<const float> values, Histogram& histogram) {
    const double half = histogram.least < histogram.most ? 0 : 0.5;
    const double first = histogram.least - half;
    const double last = histogram.most + half;
    const double width = (last - first) / kHistogramBins;
    for (std::int64_t bin = 1; bin < kHistogramBins; ++bin)
        histogram.limits.push_back(first + static_cast<double>(bin) * width);
    histogram.limits.push_back(last);
    histogram.counts.assign(kHistogramBins, 0);
    for (const float value : values) {
        const auto bin = static_cast<std::int64_t>((static_cast<double>(value) - first) / width);
        ++histogram.counts[static_cast<std::size_t>(std::min(bin, kHistogramBins - 1))];
    }
}

}  // namespace

std::int64_t Histogram::elements() const {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

double Histogram::norm() const {
    return std::sqrt(sum_of_squares);
}

std::optional<Histogram> histogram_of(const HostTensor& tensor) {
    if (tensor.dtype() != DType::f32) return histogram_of(tensor.cast(DType::f32));
    Histogram histogram;
    const std::span<const float> values = tensor.as<float>();
    if (values.empty() || !measure(values, histogram)) return std::nullopt;
    fill_bins(values, histogram);
    return histogram;
}

}  // namespace cnntrain::metrics
