#include "train/runs/evaluator.h"

#include <algorithm>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/schedule/run_plan.h"
#include "cnntrain/train/assemble.h"
#include "train/runs/timing.h"
#include "train/runs/weights.h"

namespace cnntrain::train {

namespace {

std::unique_ptr<backend::Executable> compile(const backend::Backend& backend, const graph::Graph& graph,
                                             const Samples& data, const config::Settings& settings, std::uint64_t seed,
                                             const std::function<bool()>& stop_requested) {
    backend::CompileRequest request =
        compile_request(graph, settings, data.fields(settings.training.micro_batch_size), {}, seed);
    request.runtime.stop_requested = stop_requested;
    return backend.compile(request);
}

}  // namespace

Evaluator::Evaluator(const Task& task, const backend::Backend& backend, const Samples& data,
                     const config::Settings& settings, std::uint64_t seed, std::function<bool()> stop_requested)
    : task_(task),
      stop_requested_(std::move(stop_requested)),
      graph_(task.evaluation_graph(data.fields(settings.training.micro_batch_size))),
      executable_(compile(backend, graph_, data, settings, seed, stop_requested_)),
      data_(data),
      loader_(validation_loader_settings(settings)),
      latency_(settings.device.latency) {}

void Evaluator::load(checkpoint::Checkpoint checkpoint, const std::string& path) {
    load_model(*executable_, graph_, std::move(checkpoint), path);
}

void Evaluator::load_random(std::uint64_t seed) {
    initialise(*executable_, graph_, seed);
}

std::optional<metrics::ValidationRow> Evaluator::run(metrics::ValidationRow row, metrics::Observers& observers) {
    const metrics::Unit& unit = task_.columns().unit;
    data::LoaderSettings loader = loader_;
    loader.stop_requested = stop_requested_;
    const Stopwatch watch;  // of the input, too: a stream that was there before would have its first batches ready
    const std::unique_ptr<data::Stream> stream = data_.stream(loader);
    schedule::ValidationPlan plan = schedule::make_validation_plan(stream->samples(), stream->micro_batch());
    if (most_batches_) plan.batches = std::min(plan.batches, *most_batches_);
    CreationTap tap(*stream);
    metrics::Sums sums;
    double latency_ms = 0;
    std::int64_t samples = 0;
    for (std::int64_t done = 0; done < plan.batches;) {
        backend::StepResult result;
        try {
            result = executable_->evaluate(tap, 1);
        } catch (const Interrupted&) {
            return std::nullopt;
        }
        if (latency_) latency_ms += tap.milliseconds_since_creation();
        metrics::add(sums, result.sums);
        samples += result.samples;
        ++done;
        if (result.stopped || stop_requested()) return std::nullopt;
        observers.progress({done, 0, plan.batches, static_cast<double>(samples) / watch.seconds(), watch.seconds(),
                            "batches", unit.many});
    }
    row.val_time = watch.seconds();
    const std::int64_t left_out = stream->stats().left_out;
    CNNTRAIN_CHECK(most_batches_ || samples + left_out == plan.images,
                   "validation saw " + std::to_string(samples) + " of " + std::to_string(plan.images) + " samples");
    if (left_out > 0) {
        observers.line(std::to_string(left_out) + " of " + std::to_string(plan.images) + " validation " + unit.many +
                       " could not be decoded and are not counted");
    }
    if (samples == 0) throw Error(ErrorKind::data, "no validation " + unit.one + " could be decoded");
    row.val_size = samples;
    row.results = metrics::values_of(task_.columns().validation, sums, samples);
    row.samples_per_second = static_cast<double>(samples) / row.val_time;
    if (latency_) row.latency = latency_ms / static_cast<double>(plan.batches);
    return row;
}

}  // namespace cnntrain::train
