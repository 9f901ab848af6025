// One training run, from opened data to its last checkpoint. runs.h says what it is for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/checkpoint/checkpoint.h"
#include "cnntrain/checkpoint/folder.h"
#include "cnntrain/config/parse.h"
#include "cnntrain/data/input.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/metrics/meters.h"
#include "cnntrain/metrics/run_log.h"
#include "cnntrain/optim/learning_rate.h"
#include "cnntrain/schedule/run_plan.h"
#include "cnntrain/train/runs.h"
#include "train/reports/mlperf_log.h"
#include "train/runs/averaging.h"
#include "train/runs/evaluator.h"
#include "train/runs/run_folder.h"
#include "train/runs/timing.h"

namespace cnntrain::train {

/// The checkpoint that a run continues from.
struct ResumePoint {
    checkpoint::Found found;
    checkpoint::Checkpoint checkpoint;
};

/// The latest checkpoint of a run's folder. Error(not_found) when there is none.
ResumePoint find_resume_point(const FileSystem& files, const std::string& folder);

/// The seed in a checkpoint's metadata.
std::optional<std::int64_t> recorded_seed(const checkpoint::Checkpoint& checkpoint);

class Trainer {
public:
    /// `arguments` have a seed. `resume` is empty for a new run.
    Trainer(const config::ParseResult& arguments, const Host& host, RunFolder folder,
            std::optional<ResumePoint> resume);

    int run();

private:
    enum class LoopEnd { finished, stopped };

    void open_data();
    void introduce();
    void compile();
    void load_weights();
    void load_initial_weights(const std::string& init_path);
    void resume();

    LoopEnd loop();
    int train_and_validate();
    /// Runs up to the step's end, or to the update after which a stop was asked for.
    void run_host_step(const schedule::HostStep& step, double learning_rate);
    void check_loss(const backend::StepResult& result, const schedule::HostStep& step, double learning_rate);
    void save();
    std::string how_to_continue() const;
    void average();
    int validate();
    std::optional<metrics::ValidationRow> evaluate(const metrics::ValidationRow& point, const std::string& path,
                                                   Evaluator& evaluator);
    bool stop_requested() const { return host_.stop_requested && host_.stop_requested(); }
    std::uint64_t seed() const { return static_cast<std::uint64_t>(*settings_.device.seed); }

    config::ParseResult arguments_;
    const config::Settings& settings_;
    Host host_;
    FileSystem& files_;
    RunFolder folder_;
    std::optional<ResumePoint> resume_;
    Stopwatch since_start_;
    metrics::RunLog log_;
    MlperfLog mlperf_;
    std::unique_ptr<backend::Backend> backend_;

    std::optional<data::InputData> train_data_;
    std::optional<data::InputData> validation_data_;
    schedule::RunPlan plan_;
    std::optional<optim::LearningRate> learning_rate_;

    std::optional<graph::Graph> graph_;
    std::unique_ptr<backend::Executable> executable_;
    std::unique_ptr<data::Stream> stream_;
    std::optional<metrics::Meters> meters_;

    std::int64_t first_iteration_ = 0;        // of this process
    std::int64_t iteration_ = 0;              // weight updates done
    std::optional<std::int64_t> last_saved_;  // iteration of the newest checkpoint of this run
    std::vector<AveragedCheckpoint> averages_;
    bool warned_of_nan_ = false;
    Stopwatch loop_watch_;
};

}  // namespace cnntrain::train
