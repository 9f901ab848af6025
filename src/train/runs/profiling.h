// Profiles of runs: what a profile says about its run, and the window of updates that a training measures.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "cnntrain/profile/session.h"
#include "cnntrain/train/runs.h"
#include "cnntrain/train/task.h"

namespace cnntrain::train {

/// True if the run records a profile of itself.
bool wants_profile(const config::Settings& settings);

/// The host with a timeline, and with a communicator that records on it.
Host recorded(const Host& host);

/// A profile without measurements. `fields`: of a micro-batch.
profile::Profile profile_facts(const Task& task, const backend::Backend& backend, const config::Settings& settings,
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

}  // namespace cnntrain::train
