// Evaluates a set of weights on the validation split.
#pragma once

#include <cstdint>
#include <map>
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
#include "train/runs/class_counts.h"

namespace cnntrain::train {

/// The graph of validations with these settings: with logits where a training counts classes.
graph::Graph validation_graph(const Task& task, const config::Settings& settings,
                              const std::vector<data::Field>& fields);

/// Compiles once, then evaluates any number of checkpoints. Every sample is counted once, and processes share the
/// samples. A training that is validated while it runs also counts by class, where the task has classes.
class Evaluator {
public:
    /// `data`: the validation split, which the processes of the host share.
    Evaluator(const Task& task, const backend::Backend& backend, const Samples& data, const config::Settings& settings,
              std::uint64_t seed, const Host& host);

    void load(checkpoint::Checkpoint checkpoint, const std::string& path);
    void load_random(std::uint64_t seed);
    /// Takes the weights of this process's training.
    void load_from(const backend::Executable& training);
    /// Takes these variables of the model.
    void load(const std::map<std::string, HostTensor>& variables);
    /// Broadcasts the weights that rank 0 has loaded.
    void share_weights();

    /// Evaluates and completes `row`, whose name, iteration and epoch are set. The measured time includes starting the
    /// input pipeline. Returns nothing if a stop was requested.
    std::optional<metrics::ValidationRow> run(metrics::ValidationRow row, metrics::Observers& observers);

    /// Counts of the last run; empty if classes are not counted.
    const ClassCounts& class_counts() const { return class_counts_; }
    /// Where the last run met a number that is not finite, on any rank; nothing if all were, as far as it has looked.
    const std::optional<std::string>& not_finite() const { return not_finite_; }
    const backend::CompileReport& report() const { return executable_->report(); }

    /// Limits each run to this many batches: for measurements on generated data.
    void cut_short(std::int64_t batches) { most_batches_ = batches; }

private:
    /// Results of this process's share, or of all processes.
    struct Seen {
        metrics::Sums sums;
        ClassCounts classes;
        std::int64_t samples = 0, left_out = 0;
        double latency_ms = 0;  // sum over all batches
        bool stopped = false;
        std::optional<std::string> not_finite;  // the first place
    };

    bool stop_requested() const { return host_.stop_requested && host_.stop_requested(); }
    Seen run_share(data::Stream& stream, std::int64_t batches, metrics::Observers& observers);
    Seen of_all(Seen mine) const;

    const Task& task_;
    const Host& host_;
    const Classifier* classifier_;  // null: classes are not counted
    graph::Graph graph_;
    std::unique_ptr<backend::Executable> executable_;
    const Samples& data_;
    data::LoaderSettings loader_;
    RunSettings run_settings_;
    std::optional<std::int64_t> most_batches_;
    bool latency_;  // whether latency is measured
    ClassCounts class_counts_;
    std::optional<std::string> not_finite_;
};

}  // namespace cnntrain::train
