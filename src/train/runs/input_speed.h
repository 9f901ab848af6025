// `--dataset-benchmark`: the input pipeline alone.
#pragma once

#include <cstdint>
#include <functional>

#include "cnntrain/data/loader.h"
#include "cnntrain/metrics/observer.h"

namespace cnntrain::train {

/// Takes `batches` batches as fast as they come (fewer when a stop is asked for) and logs the throughput, the rate of
/// each stage per core, and the memory held.
void measure_input_speed(data::Stream& stream, std::int64_t batches, const metrics::Unit& unit,
                         metrics::Observers& observers, const std::function<bool()>& stop_requested);

}  // namespace cnntrain::train
