// The results of a set of weights on the validation split.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cnntrain/backend/backend.h"
#include "cnntrain/checkpoint/checkpoint.h"
#include "cnntrain/config/settings.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/metrics/observer.h"
#include "train/tasks/task.h"

namespace cnntrain::train {

/// Compiled once, then run on any number of checkpoints. Every sample is counted once.
class Evaluator {
public:
    /// `data` is the validation split. `stop_requested`: see Host.
    Evaluator(const Task& task, const backend::Backend& backend, const Samples& data, const config::Settings& settings,
              std::uint64_t seed, std::function<bool()> stop_requested);

    void load(checkpoint::Checkpoint checkpoint, const std::string& path);
    void load_random(std::uint64_t seed);

    /// `row` comes with name, iteration and epoch. The measured time begins with the input, nothing of which is ready then.
    /// Nothing when a stop was asked for on the way.
    std::optional<metrics::ValidationRow> run(metrics::ValidationRow row, metrics::Observers& observers);

    /// So many batches of each run instead of the whole data set: for measuring, where all samples are alike.
    void cut_short(std::int64_t batches) { most_batches_ = batches; }

private:
    bool stop_requested() const { return stop_requested_ && stop_requested_(); }

    const Task& task_;
    std::function<bool()> stop_requested_;
    graph::Graph graph_;
    std::unique_ptr<backend::Executable> executable_;
    const Samples& data_;
    data::LoaderSettings loader_;
    std::optional<std::int64_t> most_batches_;
    bool latency_;  // measured
};

}  // namespace cnntrain::train
