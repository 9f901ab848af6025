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
#include "cnntrain/train/runs.h"
#include "cnntrain/train/task.h"

namespace cnntrain::train {

/// Compiled once, then run on any number of checkpoints. Every sample is counted once; several processes share them.
class Evaluator {
public:
    /// `data` is the validation split. The processes of the host share it.
    Evaluator(const Task& task, const backend::Backend& backend, const Samples& data, const config::Settings& settings,
              std::uint64_t seed, const Host& host);

    void load(checkpoint::Checkpoint checkpoint, const std::string& path);
    void load_random(std::uint64_t seed);
    /// Those that rank 0 has loaded, to all.
    void share_weights();

    /// `row` comes with name, iteration and epoch. The measured time begins with the input, nothing of which is ready
    /// then.
    /// Nothing when a stop was asked for on the way.
    std::optional<metrics::ValidationRow> run(metrics::ValidationRow row, metrics::Observers& observers);

    /// So many batches of each run instead of the whole data set: for measuring, where all samples are alike.
    void cut_short(std::int64_t batches) { most_batches_ = batches; }

private:
    /// What a process has seen of its share, or of all.
    struct Seen {
        metrics::Sums sums;
        std::int64_t samples = 0, left_out = 0;
        double latency_ms = 0;  // of all batches together
        bool stopped = false;
    };

    bool stop_requested() const { return host_.stop_requested && host_.stop_requested(); }
    Seen run_share(data::Stream& stream, std::int64_t batches, metrics::Observers& observers);
    Seen of_all(Seen mine) const;

    const Task& task_;
    const Host& host_;
    graph::Graph graph_;
    std::unique_ptr<backend::Executable> executable_;
    const Samples& data_;
    data::LoaderSettings loader_;
    std::optional<std::int64_t> most_batches_;
    bool latency_;  // measured
};

}  // namespace cnntrain::train
