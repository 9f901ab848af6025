// `cnntrain inference --iterations N`: how fast a trained net answers.
#pragma once

#include "cnntrain/config/parse.h"
#include "cnntrain/train/runs.h"

namespace cnntrain::train {

/// `--num-inference-thread` threads send `--iterations` batches each, one at a time, and wait for each answer. Every
/// thread has an executable of its own, with its own copy of the weights and its share of the compute threads; batches
/// are prepared outside the measured times. Prints throughput and latencies, `--repeat` times.
int measure_requests(const TaskRow& row, const config::ParseResult& arguments, const Host& host);

}  // namespace cnntrain::train
