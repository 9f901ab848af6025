// The training loop: weight updates, log lines, checkpoints, stop requests.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/io.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/options/settings.h"
#include "cnntrain/parallel/communicator.h"
#include "cnntrain/parallel/run_plan.h"
#include "cnntrain/run/observer.h"
#include "cnntrain/run/task.h"
#include "cnntrain/weights/checkpoint.h"
#include "run/averaging.h"
#include "run/metrics/meters.h"
#include "run/monitor.h"
#include "run/profiling.h"
#include "run/resume.h"
#include "run/run_files.h"

namespace cnntrain::run {

// Signs that a training does not learn, or that its validations say little: each is one line for the user.

/// Reason why a validation after `updates` updates says little: most of the statistics that it reads are still their
/// start. Names a decay that would do. "" if the averages follow the training.
std::string statistics_warning(double decay, std::int64_t updates);

/// The same for the first validation of a new run. "" also for a run without validations, moving averages or real data,
/// and for one that begins with given weights, whose averages are of some use from the start.
std::string slow_statistics(const Task& task, const options::Settings& settings, const schedule::RunPlan& plan,
                            const graph::Graph& training_graph);

/// Compares the training loss of the first updates with the loss of later ones, once.
class DescentCheck {
public:
    /// `peak_rate`: the highest learning rate of the run. `from_weights`: the run starts from trained weights, whose
    /// loss may be as low as it gets; then only a rising loss is pointed out.
    DescentCheck(double peak_rate, bool from_weights) : peak_rate_(peak_rate), from_weights_(from_weights) {}

    /// An update with the mean loss of its samples. Returns the warning when it is due. The comparison takes place
    /// after as many updates as make up 200 at the peak rate: those of a warm-up count less. `last`: the run ends here,
    /// which brings the comparison forward.
    std::string add(double loss, double learning_rate, bool last);

private:
    struct Mean {
        double value = 0;
        double error = 0;  // standard error
    };
    template <typename Losses> static Mean mean_of(const Losses& losses);
    std::string judge(double learning_rate) const;

    double peak_rate_;
    bool from_weights_;
    bool done_ = false;
    double full_updates_ = 0;  // sum of learning rates over the peak rate
    std::int64_t updates_ = 0;
    std::vector<double> first_;
    std::deque<double> recent_;
};

/// The check for a new run; empty for a run on data that cannot be learnt.
std::optional<DescentCheck> descent_check(const Task& task, const options::Settings& settings,
                                          const schedule::RunPlan& plan);

// Reports how far a long weight update is.

/// Forwards the micro-batches of weight updates and counts them. An update that takes longer than kLongUpdateSeconds
/// is reported with each further micro-batch. Those on their way in a pipeline count as done.
class UpdateProgress final : public data::BatchSource {
public:
    struct Facts {
        std::int64_t micro_batches = 1;    // of an update, on this rank
        std::int64_t ranks = 1;            // each is taken to be as fast as this one
        std::string update = "iteration";  // name of an update
        std::string_view samples = {};     // name of samples
    };
    static constexpr double kLongUpdateSeconds = 10;

    /// `seconds`: a clock; empty: the system's.
    UpdateProgress(data::BatchSource& source, metrics::Observer& observer, Facts facts,
                   std::function<double()> seconds = {});

    /// An update begins: number `iteration` of the run, counted from 1, of which `done` micro-batches were done before.
    void begin(std::int64_t iteration, std::int64_t done);

    std::vector<data::Field> fields() const override { return source_.fields(); }
    /// Called by one thread at a time, so that the observer is, too.
    data::Batch next() override;

private:
    void report() const;

    data::BatchSource& source_;
    metrics::Observer& observer_;
    Facts facts_;
    std::function<double()> seconds_;
    std::string unit_;
    double start_ = 0;
    std::int64_t first_ = 0;    // micro-batches done before
    std::int64_t taken_ = 0;    // with them
    std::int64_t samples_ = 0;  // without them
};

/// The complete parts of a training run, made before the trainer.
struct TrainingParts {
    schedule::RunPlan plan;
    std::function<double(std::int64_t)> learning_rate;  // by HostStep::lr_iteration
    std::function<double(std::int64_t)> loss_scaling;   // by HostStep::lr_iteration
    std::unique_ptr<backend::Executable> executable;    // loaded with the initial weights
    std::unique_ptr<data::Stream> stream;               // starts at the first sample to train on
    metrics::Meters meters;
    std::int64_t iteration = 0;                   // weight updates done by earlier processes
    std::optional<std::int64_t> last_saved = {};  // iteration of the run's newest checkpoint; empty: none
    /// The part of the first update that an earlier process did. The stream begins after it.
    KeptUpdate kept = {};
    std::vector<ModelVariable> model = {};          // what the best weights are
    std::unique_ptr<WeightAverage> average = {};    // of the weights so far; null: none is kept
    std::unique_ptr<Monitor> monitor = {};          // validates during the training; null: validation follows it
    std::optional<DescentCheck> descent = {};       // of a new run on real data
    std::unique_ptr<ProfiledWindow> profiled = {};  // null: nothing is profiled
};

struct TrainerSettings {
    std::int64_t keep_checkpoints = 0;     // number of newest checkpoints to keep; 0: all
    bool in_f32 = false;                   // save 16-bit variables as f32
    bool count_nans = false;               // count NaNs in every checkpoint
    bool stop_on_nan = true;               // throw Error(diverged) if the loss is not finite
    bool saves = true;                     // whether this process writes checkpoints
    bool saves_at_end = true;              // whether an early end of the training has a checkpoint
    std::int64_t iterations_per_sync = 0;  // updates between broadcasts of rank 0's variables; 0: never
    std::int64_t checkpoint_lag = 0;       // Task::checkpoint_lag()
    /// Metadata of every checkpoint.
    std::map<std::string, std::string> metadata;
    std::string how_to_continue = {};  // message after a stop
    std::int64_t micro_batches = 1;    // of an update, in each process
    bool validates_start = false;      // iteration 0 is compared, too
    /// A stop inside an update keeps its complete micro-batches if they took at least as long.
    double least_kept_seconds = 0;
};

class Trainer {
public:
    enum class End { finished, stopped };

    Trainer(const Task& task, TrainingParts parts, TrainerSettings settings, RunFolder folder, FileSystem& files,
            metrics::Observers& observers, std::function<bool()> stop_requested, comm::Communicator& communicator);

    /// Writes a checkpoint at the current iteration. Where updates lag behind checkpoints' numbers, ckpt-0 has the
    /// weights before the first update, and only a planned checkpoint takes its place.
    void save();

    /// Trains to the end of the plan, to an early end that the monitor asks for, or to a requested stop. A stop leaves
    /// a checkpoint of the last complete update, and the complete micro-batches of the next one in a file beside it.
    /// An early end leaves a checkpoint, too.
    End run();

private:
    /// Trains to the end of the step, or to the last complete update before a requested stop.
    void finish(const schedule::HostStep& step, double learning_rate);
    void run_host_step(const schedule::HostStep& step, double learning_rate);
    /// The step's remaining updates, up to the next broadcast of the weights.
    std::span<const backend::StepScalars> next_updates(const schedule::HostStep& step, double learning_rate);
    /// Validates if that is due. A stop during the validation leaves it due.
    void validate();
    /// Validates now.
    void compare();
    /// Validates at the first iteration of a resumed run, if a stop left that due, or of a run with a solved last
    /// layer.
    void catch_up();
    bool ends_early() const { return parts_.monitor && parts_.monitor->ends_early(); }
    /// Writes the results of the training: the average of the weights, and the last checkpoint of an early end.
    void save_results();
    /// The time that the average took, as the end of a message.
    std::string average_cost() const;
    void save_best();
    /// The checkpoint of this iteration, without tensors.
    weights::Checkpoint described() const;
    /// Counts an update and reports its results. `seconds`: duration of the update.
    void finish_update(const backend::StepResult& result, double seconds, const schedule::HostStep& step,
                       double learning_rate);
    /// Ends the run with a checkpoint. Says how to continue.
    void stop();
    /// Keeps the complete micro-batches of an update that was stopped; returns a message about them. All processes call
    /// it together.
    std::string keep_update();
    /// Numbers an update, counted from 1, as log lines do.
    std::int64_t displayed_iteration(std::int64_t iteration) const;
    void check_loss(double loss, const schedule::HostStep& step, double learning_rate);
    std::string divergence(double loss, const schedule::HostStep& step, double learning_rate) const;
    /// True if a stop takes effect: for several processes, after an update in which all of them learn of it.
    bool stop_requested() const {
        return stop_agreed_ || (communicator_.size() == 1 && stop_requested_ && stop_requested_());
    }
    void save(std::int64_t number);
    /// The number in a planned checkpoint's name.
    std::int64_t checkpoint_number(std::int64_t iteration) const;
    /// The current variables of all processes. Error(peers) if they differ between processes.
    weights::TensorSource variables() const;
    void report_distributions();
    void log_exchange();
    /// Adds the times since the last reading of the processors' times.
    void read_processors();
    void log_times();
    /// A row for each rank. All processes call it together.
    void log_rank_times();

    const Task& task_;
    TrainingParts parts_;
    TrainerSettings settings_;
    RunFolder folder_;
    FileSystem& files_;
    metrics::Observers& observers_;
    std::function<bool()> stop_requested_;
    comm::Communicator& communicator_;

    UpdateProgress source_;
    std::int64_t iteration_;                     // completed weight updates
    bool stopped_inside_ = false;                // of an update, whose complete micro-batches are parts_.kept
    std::vector<backend::StepScalars> updates_;  // of one call
    bool stop_agreed_ = false;
    metrics::UpdateTimes times_;      // since the last row
    metrics::UpdateTimes all_times_;  // of this process's updates
    ProcessorTimes processors_;       // at the last reading
    std::int64_t page_loads_ = 0;     // at the last reading
    bool warned_of_nan_ = false;
    Stopwatch loop_watch_;
};

}  // namespace cnntrain::run
