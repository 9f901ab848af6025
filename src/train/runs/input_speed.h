// `--dataset-benchmark`: the input pipeline alone.
#pragma once

#include <cstdint>
#include <functional>

#include "cnntrain/data/loader.h"
#include "cnntrain/metrics/observer.h"

namespace cnntrain::train {

/// Takes `batches` batches as fast as they come and logs the throughput, the rate of each stage per core, and the
/// memory held. Returns the process's exit code: 0, or kInterruptedExitCode when a stop was asked for.
int measure_input_speed(data::Stream& stream, std::int64_t batches, const metrics::Unit& unit,
                        metrics::Observers& observers, const std::function<bool()>& stop_requested);

}  // namespace cnntrain::train
