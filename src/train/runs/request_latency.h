// `cnntrain inference --iterations N`: measures how fast a trained network answers requests.
#pragma once

#include "cnntrain/config/parse.h"
#include "cnntrain/train/runs.h"

namespace cnntrain::train {

/// `--num-inference-thread` threads send `--iterations` batches each, one at a time, and wait for each result. Every
/// thread has its own executable with its share of the compute threads; all with as many threads read the same weights.
/// Batches are prepared outside the measured times. Prints throughput and latencies, `--repeat` times.
int measure_requests(const TaskRow& row, const config::ParseResult& arguments, const Host& host);

}  // namespace cnntrain::train
