// Measures time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "cnntrain/base/elapsed.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/run/observer.h"
#include "cnntrain/run/rows.h"

namespace cnntrain::run {

/// Seconds since construction.
class Stopwatch {
public:
    double seconds() const { return seconds_since(start_); }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Summary of at least one time in milliseconds. Percentile p is at position p * (n - 1) of the sorted times, with
/// linear interpolation.
metrics::Latencies summarise(std::vector<double> milliseconds);

/// Forwards batches and keeps the time at which the last one was created. Batches that were ready before this tap count
/// from the tap's construction.
class CreationTap final : public data::BatchSource {
public:
    explicit CreationTap(data::BatchSource& source) : source_(source) {}

    std::vector<data::Field> fields() const override { return source_.fields(); }
    data::Batch next() override;
    /// Time since the last batch became ready on the host.
    double milliseconds_since_creation() const;

private:
    data::BatchSource& source_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    std::chrono::steady_clock::time_point created_;
};

// `--dataset-benchmark`: measures the input pipeline alone.

/// Takes `batches` batches as fast as they arrive and logs the throughput, the rate of each stage per core, and the
/// memory in use. Returns the exit code of the process: 0, or kInterruptedExitCode if a stop was requested.
int measure_input_speed(data::Stream& stream, std::int64_t batches, const metrics::Unit& unit,
                        metrics::Observers& observers, const std::function<bool()>& stop_requested);

}  // namespace cnntrain::run
