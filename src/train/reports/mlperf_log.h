// `--mlperf-logging`: the events of a run as lines `:::MLLOG {json}`, on the console and in result_<seed>.txt.
//
// Keys are those of github.com/mlperf/logging; their order is that of the original programs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "cnntrain/base/io.h"
#include "cnntrain/config/parse.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/metrics/run_log.h"
#include "cnntrain/schedule/run_plan.h"

namespace cnntrain::train {

/// Top-1 accuracy in percent above which a run counts as a success.
inline constexpr double kMlperfTarget = 75.9;

class MlperfLog {
public:
    /// Without the option, or without a log folder, every call does nothing. Begins with what is known before the data.
    MlperfLog(const config::ParseResult& arguments, const std::string& folder, FileSystem& files, metrics::RunLog& log);
    ~MlperfLog();

    /// Sizes, optimiser and, unless it is resumed, the initialisation of every variable.
    void prepared(const schedule::RunPlan& plan, std::int64_t train_samples, std::int64_t eval_samples);
    void weights_initialised(const graph::Graph& graph);

    /// `first_iteration`: weight updates done before this process.
    void training_begins(const schedule::RunPlan& plan, std::int64_t first_iteration);
    /// Closes the epochs that have ended, and opens the next one unless the training has ended.
    void trained(const schedule::RunPlan& plan, std::int64_t iteration);
    void training_ends();

    void validation_begins();
    void evaluation_begins(double epoch);
    /// `accuracy` in percent.
    void evaluation_ends(double epoch, double accuracy);
    void validation_ends();
    /// success when an accuracy has reached the target, else aborted. Once; later calls do nothing.
    void run_ends();

private:
    class Events;

    void optimiser(const schedule::RunPlan& plan);

    const config::ParseResult& arguments_;
    const config::Settings& settings_;
    std::unique_ptr<Events> events_;  // null: off
    std::int64_t open_epoch_ = 0;     // 0: none
    std::int64_t first_epoch_ = 1;
    bool succeeded_ = false;
    bool running_ = false;
};

}  // namespace cnntrain::train
