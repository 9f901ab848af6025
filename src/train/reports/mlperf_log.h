// `--mlperf-logging`: logs the events of a run as lines `:::MLLOG {json}`, on the console and in result_<seed>.txt.
//
// The keys are those of github.com/mlperf/logging, in the order of the original programs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/config/parse.h"
#include "cnntrain/metrics/observer.h"
#include "cnntrain/train/task.h"

namespace cnntrain::train {

class MlperfLog final : public metrics::Observer {
public:
    /// Logs what is known before the data are opened. `console` receives every line too.
    MlperfLog(MlperfBenchmark benchmark, const config::ParseResult& arguments, const std::string& folder,
              FileSystem& files, metrics::Observer& console);
    ~MlperfLog() override;

    /// Logs sizes and optimiser.
    void training_planned(const metrics::TrainingSize& size) override;
    void weights_initialised(const std::vector<std::string>& parameters) override;
    void training_began(std::int64_t iteration) override;
    /// Closes the epochs that have ended and opens the next one, unless training has ended.
    void host_step_ended(std::int64_t iteration) override;
    void training_finished() override;

    void validation_began() override;
    void evaluation_began(double epoch) override;
    /// A validation row ends the evaluation.
    void row(const metrics::Record& row) override;
    void validation_ended() override;
    /// Logs "success" if the quality exceeded the target, otherwise "aborted". Only the first call has an effect.
    void run_ended() override;

private:
    class Events;

    void optimiser();
    std::int64_t finished_epochs(std::int64_t iteration) const;

    MlperfBenchmark benchmark_;
    config::Settings settings_;
    std::unique_ptr<Events> events_;
    metrics::TrainingSize size_;
    std::int64_t open_epoch_ = 0;  // 0: no epoch is open
    std::int64_t first_epoch_ = 1;
    double evaluated_epoch_ = 0;
    bool succeeded_ = false;
    bool running_ = false;
};

}  // namespace cnntrain::train
