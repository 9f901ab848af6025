// What image classification says about a run: its name, its summary, its learning rate, MLPerf's facts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/train/task.h"

namespace cnntrain::tasks {

/// Name of a run's folder: `RN20_bs32_BN_16.16_3S9`. `random` is three characters of
/// [A-Z0-9] drawn by the caller.
std::string image_run_name(const config::Settings& settings, std::string_view random);

// Parts of the summary.
std::string summary_head(const config::ParseResult& arguments);
std::string summary_training(const config::Settings& settings);
std::string summary_tail(const config::Settings& settings);

/// Of a dry run.
std::vector<train::Topic> image_rate_topics(const config::Settings& settings, const schedule::RunPlan& plan);

/// Empty for data that are not published: its epochs are those of the published set.
std::optional<train::MlperfBenchmark> mlperf_benchmark(const config::ParseResult& arguments);

}  // namespace cnntrain::tasks
