// `--dataset-benchmark`: measures the input pipeline alone.
#pragma once

#include <cstdint>
#include <functional>

#include "cnntrain/data/loader.h"
#include "cnntrain/metrics/observer.h"

namespace cnntrain::train {

/// Takes `batches` batches as fast as they arrive and logs the throughput, the rate of each stage per core, and the
/// memory in use. Returns the exit code of the process: 0, or kInterruptedExitCode if a stop was requested.
int measure_input_speed(data::Stream& stream, std::int64_t batches, const metrics::Unit& unit,
                        metrics::Observers& observers, const std::function<bool()>& stop_requested);

}  // namespace cnntrain::train
