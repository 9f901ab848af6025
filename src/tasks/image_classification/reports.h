// Texts of image classification about a run: its name, summary, learning rate, and the facts for MLPerf's log.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/run/task.h"

namespace cnntrain::tasks {

/// TaskDescription::run_name, such as `RN20_bs32_BN_16.16`.
std::string image_run_name(const options::Settings& settings);

// Parts of the summary.
std::string summary_head(const options::ParseResult& arguments);
std::string summary_training(const options::Settings& settings);
std::string summary_tail(const options::Settings& settings);

/// Topics of the optimiser and the learning rate, for a dry run.
std::vector<run::Topic> image_rate_topics(const options::Settings& settings, const schedule::RunPlan& plan);

/// Empty for data without a published set, whose epochs MLPerf's log uses.
std::optional<run::MlperfBenchmark> mlperf_benchmark(const options::ParseResult& arguments);

}  // namespace cnntrain::tasks
