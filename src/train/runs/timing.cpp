#include "train/runs/timing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cnntrain/base/error.h"

namespace cnntrain::train {
namespace {

double percentile(const std::vector<double>& sorted, double share) {
    const double position = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return std::lerp(sorted[below], sorted[above], position - std::floor(position));
}

}  // namespace

metrics::Latencies summarise(std::vector<double> milliseconds) {
    CNNTRAIN_CHECK(!milliseconds.empty(), "no call was timed");
    std::ranges::sort(milliseconds);
    metrics::Latencies result;
    result.mean =
        std::accumulate(milliseconds.begin(), milliseconds.end(), 0.0) / static_cast<double>(milliseconds.size());
    result.p99 = percentile(milliseconds, 0.99);
    result.p99_9 = percentile(milliseconds, 0.999);
    result.max = milliseconds.back();
    return result;
}

data::Batch CreationTap::next() {
    data::Batch batch = source_.next();
    created_ = std::max(batch.created, start_);
    return batch;
}

double CreationTap::milliseconds_since_creation() const {
    return 1e3 * seconds_since(created_);
}

}  // namespace cnntrain::train
