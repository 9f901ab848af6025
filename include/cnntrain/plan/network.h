// Between the networks that comm measures and those that schedule's time model takes.
#pragma once

#include <string>

#include "cnntrain/comm/network.h"
#include "cnntrain/plan/data_parallel_time.h"

namespace cnntrain::plan {

/// Lines through the measured messages. A link that was not measured, because there are no two such ranks, costs
/// nothing.
Network network_of(const comm::NetworkTimes& times);

/// "latency 1.5 us, 12.5 GB/s"
std::string link_text(const Link& link);
/// What was measured: latencies, bandwidths, residuals, and adding, in one line.
std::string measured_text(const comm::NetworkTimes& times);
/// A table of every measured sum beside what the model makes of the measured messages, for the ranks that were
/// measured.
std::string sums_text(const comm::NetworkTimes& times, const ProcessGrid& grid);

}  // namespace cnntrain::plan
