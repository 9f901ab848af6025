// The training loop: weight updates, log lines, checkpoints, stop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/io.h"
#include "cnntrain/checkpoint/checkpoint.h"
#include "cnntrain/comm/communicator.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/metrics/meters.h"
#include "cnntrain/metrics/observer.h"
#include "cnntrain/schedule/run_plan.h"
#include "cnntrain/train/task.h"
#include "train/runs/run_folder.h"
#include "train/runs/timing.h"

namespace cnntrain::train {

/// What a run trains with: all of it is there before the trainer is.
struct TrainingParts {
    schedule::RunPlan plan;
    std::function<double(std::int64_t)> learning_rate;  // by HostStep::lr_iteration
    std::function<double(std::int64_t)> loss_scaling;   // by HostStep::lr_iteration
    std::unique_ptr<backend::Executable> executable;    // with the weights to begin with
    std::unique_ptr<data::Stream> stream;               // from the first sample to train on
    metrics::Meters meters;
    std::int64_t iteration = 0;                   // weight updates that earlier processes have done
    std::optional<std::int64_t> last_saved = {};  // iteration of the run's newest checkpoint; empty: it has none
};

struct TrainerSettings {
    std::int64_t keep_checkpoints = 0;     // newest ones that are kept; 0: all
    bool count_nans = false;               // in every checkpoint
    bool stop_on_nan = true;               // Error(diverged) at a loss that is not finite
    bool saves = true;                     // does this process write checkpoints?
    std::int64_t iterations_per_sync = 0;  // between broadcasts of rank 0's variables; 0: never
    std::int64_t checkpoint_lag = 0;       // Task::checkpoint_lag()
    /// For the metadata of every checkpoint.
    std::map<std::string, std::string> metadata;
    std::string how_to_continue = {};  // after a stop
};

class Trainer {
public:
    enum class End { finished, stopped };

    Trainer(const Task& task, TrainingParts parts, TrainerSettings settings, RunFolder folder, FileSystem& files,
            metrics::Observers& observers, std::function<bool()> stop_requested, comm::Communicator& communicator);

    /// Writes a checkpoint of the present iteration.
    void save();

    /// To the end of the plan, or to the last whole update before a stop that was asked for; a checkpoint has been
    /// written then.
    End run();

private:
    /// Runs up to the step's end, or to the last whole update before a stop that was asked for.
    void run_host_step(const schedule::HostStep& step, double learning_rate);
    /// The updates of the step that are still to be done, up to one after which something else happens.
    std::span<const backend::StepScalars> next_updates(const schedule::HostStep& step, double learning_rate);
    /// Counts an update that took so long and says what came of it.
    void finish_update(const backend::StepResult& result, double seconds, const schedule::HostStep& step,
                       double learning_rate);
    void check_loss(double loss, const schedule::HostStep& step, double learning_rate);
    std::string divergence(double loss, const schedule::HostStep& step, double learning_rate) const;
    /// Several processes stop after the update in which one of them was asked to: all know of it then.
    bool stop_requested() const {
        return stop_agreed_ || (communicator_.size() == 1 && stop_requested_ && stop_requested_());
    }
    /// In its name.
    std::int64_t checkpoint_number(std::int64_t iteration) const;
    /// As they are now, of all processes. Error(peers) when a process has others than the others.
    checkpoint::TensorSource variables() const;
    void tell_distributions();
    void tell_exchange();

    const Task& task_;
    TrainingParts parts_;
    TrainerSettings settings_;
    RunFolder folder_;
    FileSystem& files_;
    metrics::Observers& observers_;
    std::function<bool()> stop_requested_;
    comm::Communicator& communicator_;

    std::int64_t iteration_;                     // weight updates done
    std::vector<backend::StepScalars> updates_;  // of a call
    bool stop_agreed_ = false;
    double exchange_seconds_ = 0, exposed_exchange_seconds_ = 0;  // of all updates of this process
    bool warned_of_nan_ = false;
    Stopwatch loop_watch_;
};

}  // namespace cnntrain::train
