// Converts network measurements of comm to the network of the time model.
#pragma once

#include <string>

#include "cnntrain/insight/data_parallel_time.h"
#include "cnntrain/parallel/network.h"

namespace cnntrain::plan {

/// Fits lines to the measured messages. A link that no two ranks have, and which was therefore not measured, costs
/// nothing.
Network network_of(const comm::NetworkTimes& times);

/// "latency 1.5 us, 12.5 GB/s"
std::string link_text(const Link& link);
/// The measured latencies, bandwidths, residuals and adding rate, in one line.
std::string measured_text(const comm::NetworkTimes& times);
/// A table of every measured sum and the model's prediction from the measured messages, for the measured ranks.
std::string sums_text(const comm::NetworkTimes& times, const ProcessGrid& grid);

}  // namespace cnntrain::plan
