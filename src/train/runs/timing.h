// How long things take.
#pragma once

#include <chrono>
#include <vector>

#include "cnntrain/data/batch.h"
#include "cnntrain/metrics/rows.h"

namespace cnntrain::train {

/// Seconds since it was made.
class Stopwatch {
public:
    double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Of at least one time in milliseconds. Percentile p stands at position p * (n - 1) of the sorted times, linear
/// between neighbours.
metrics::Latencies summarise(std::vector<double> milliseconds);

/// Passes batches on and remembers when the last one was created; those that were ready before the tap was made count
/// from then.
class CreationTap final : public data::BatchSource {
public:
    explicit CreationTap(data::BatchSource& source) : source_(source) {}

    std::vector<data::Field> fields() const override { return source_.fields(); }
    data::Batch next() override;
    /// Since the last batch was ready on the host.
    double milliseconds_since_creation() const;

private:
    data::BatchSource& source_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    std::chrono::steady_clock::time_point created_;
};

}  // namespace cnntrain::train
