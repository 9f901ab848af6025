// The steps of a command line without a run around them: no folder, no logs, no checkpoints; the weights are random.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "cnntrain/backend/backend.h"
#include "cnntrain/config/parse.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/profile/session.h"
#include "cnntrain/schedule/update_plan.h"
#include "cnntrain/train/runs.h"
#include "cnntrain/train/task.h"

namespace cnntrain::train {

class LineSteps {
public:
    /// `evaluates`: steps are micro-batches of an evaluation; otherwise weight updates. Processes make their steps
    /// together.
    LineSteps(const TaskRow& row, const config::ParseResult& arguments, const Host& host, bool evaluates);

    /// Throws Interrupted if a stop is requested.
    void step();

    std::int64_t samples_per_step() const { return placement_.samples * placement_.micro_batches; }
    const Task& task() const { return *task_; }
    const backend::Backend& backend() const { return *backend_; }
    const graph::Graph& graph() const { return *graph_; }
    const schedule::Placement& placement() const { return placement_; }
    backend::Executable& executable() { return *executable_; }
    const data::Stream& stream() const { return *stream_; }
    int threads() const { return threads_; }
    bool evaluates() const { return evaluates_; }

    /// For measurements of these steps. `timeline`: that of the host, which must outlive them.
    profile::Session session(Timeline& timeline, const config::ParseResult& arguments);

private:
    void open_training(const config::Settings& settings);
    void open_evaluation(const config::ParseResult& arguments);
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

}  // namespace cnntrain::train
