// Evaluation of a graph on samples of a split, batch by batch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/elapsed.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/observer.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/task.h"
#include "cnntrain/run/weights.h"
#include "run/evaluator.h"
#include "run/monitor.h"

namespace cnntrain::run {

/// Runs a graph over an evenly spread part of a split.
class Sweep {
public:
    /// `most_samples` 0: all.
    Sweep(const Samples& samples, const EvaluationWork& work, std::int64_t most_samples)
        : samples_(samples), work_(work), loader_(loader_settings(work.settings(), 0)) {
        constexpr std::int64_t kMostInBatch = 32;
        loader_.micro_batch = std::min(loader_.micro_batch, kMostInBatch);
        loader_.stop_requested = work.host.stop_requested;
        if (most_samples > 0 && most_samples < samples.count()) {
            loader_.micro_batch = std::min(loader_.micro_batch, most_samples);
            const std::int64_t all = (samples.count() + loader_.micro_batch - 1) / loader_.micro_batch;
            const std::int64_t wanted = most_samples / loader_.micro_batch;
            loader_.ranks = (all + wanted - 1) / wanted;
        }
    }

    std::vector<data::Field> fields() const { return samples_.fields(loader_.micro_batch); }

    /// Calls `add` with each batch and the executable that has its outputs, until it returns false.
    void run(const graph::Graph& graph, const std::string& checkpoint, const std::string& output,
             const std::function<bool(const BatchCopy&, const backend::Executable&)>& add) const {
        const options::Settings& settings = work_.settings();
        const Host& host = work_.host;
        const auto executable =
            work_.backend.compile(compile_request(graph, settings, fields(), work_.seed, host.stop_requested));
        load_model(*executable, graph, checkpoint_weights(*host.files, checkpoint, settings), checkpoint, settings.run);
        const auto stream = samples_.stream(loader_);
        BatchCopy source(*stream);
        const std::int64_t batches = stream->batches_per_sweep();
        const Stopwatch watch;
        for (std::int64_t done = 0; done < batches;) {
            const backend::StepResult result = executable->evaluate(source, 1);
            if (result.stopped || (host.stop_requested && host.stop_requested())) throw Interrupted();
            if (const auto where = not_finite_in(*executable, result, output, /*looks_inside=*/done == 0))
                fail_not_finite("predictions of " + checkpoint, *where);
            if (!add(source, *executable)) return;
            ++done;
            const double rate = static_cast<double>(done * loader_.micro_batch) / watch.seconds();
            work_.observers.on(metrics::Progress{done, 0, batches, rate, watch.seconds(), "batches",
                                                 work_.task.columns().unit.many, true});
        }
    }

    std::int64_t in_batch() const { return loader_.micro_batch; }
    const Samples& samples() const { return samples_; }

private:
    const Samples& samples_;
    EvaluationWork work_;
    data::LoaderSettings loader_;
};

}  // namespace cnntrain::run
