// Profiles of runs: the conclusions of a profile about its run, and the window of updates that a training measures.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "cnntrain/backend/backend.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/parallel/pipeline.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/task.h"
#include "run/profile/session.h"

namespace cnntrain::run {

/// True if the run records a profile of itself.
bool wants_profile(const options::Settings& settings);

/// The host with a timeline, and with a communicator that records on it.
Host recorded(const Host& host);

/// A profile without measurements. `fields`: of a micro-batch.
profile::Profile profile_facts(const Task& task, const backend::Backend& backend, const options::Settings& settings,
                               const Host& host, bool trains, const schedule::Placement& placement,
                               const std::vector<data::Field>& fields);

/// Steps that are not measured: caches fill, threads start, and batches that were ready before the first step would
/// hide the time that the input takes.
std::int64_t updates_before_profile(const data::Stream& stream, const schedule::Placement& placement);

/// The updates of a training that its profile covers.
struct Window {
    std::int64_t first = 0;  // updates before it
    std::int64_t steps = 0;  // 0: the training is too short
};
/// `updates`: that the training makes. `before`: that should not be measured.
Window profiled_window(std::int64_t updates, std::int64_t before, std::int64_t steps);

/// Measures a window of the updates of a training.
class ProfiledWindow {
public:
    /// `samples`: of an update in this process. `done` receives the report.
    ProfiledWindow(std::unique_ptr<profile::Session> session, Window window, std::int64_t samples,
                   std::function<void(const profile::Report&)> done);

    /// Call after each update.
    void update_done();

private:
    std::unique_ptr<profile::Session> session_;  // null: it is over
    Window window_;
    std::int64_t samples_;
    std::int64_t updates_ = 0;  // done so far
    std::function<void(const profile::Report&)> done_;
};

// The steps of a command line without a run around them: no folder, no logs, no checkpoints; the weights are random.

class LineSteps {
public:
    /// `evaluates`: steps are micro-batches of an evaluation; otherwise weight updates. Processes make their steps
    /// together.
    LineSteps(const TaskRow& row, const options::ParseResult& arguments, const Host& host, bool evaluates);

    /// Throws Interrupted if a stop is requested.
    void step();

    /// Samples of this process, an average where rows hold several.
    std::int64_t samples_per_step() const {
        const std::int64_t batches = stream_->batches_per_sweep() * host_.communicator->size();
        return std::max(placement_.samples, stream_->samples() / batches) * placement_.micro_batches;
    }
    const Task& task() const { return *task_; }
    const backend::Backend& backend() const { return *backend_; }
    const graph::Graph& graph() const { return *graph_; }
    const schedule::Placement& placement() const { return placement_; }
    backend::Executable& executable() { return *executable_; }
    const data::Stream& stream() const { return *stream_; }
    int threads() const { return threads_; }
    bool evaluates() const { return evaluates_; }

    /// A session that measures these steps. `timeline`: the host's, which must outlive them.
    profile::Session session(Timeline& timeline, const options::ParseResult& arguments);

private:
    void open_training(const options::Settings& settings);
    void open_evaluation(const options::ParseResult& arguments);
    void compile(backend::CompileRequest request);

    const Host& host_;
    bool evaluates_;
    std::unique_ptr<backend::Backend> backend_;
    std::unique_ptr<Task> task_;
    std::unique_ptr<Samples> samples_;
    schedule::Placement placement_;
    std::optional<graph::Graph> graph_;
    std::unique_ptr<data::Stream> stream_;
    std::unique_ptr<backend::Executable> executable_;
    double loss_scaling_ = 1;
    int threads_ = 0;
    std::int64_t iteration_ = 0;
};

}  // namespace cnntrain::run
