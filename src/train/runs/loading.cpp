#include "cnntrain/train/loading.h"

#include <algorithm>

#include "cnntrain/base/checked.h"
#include "cnntrain/train/backends.h"
#include "cnntrain/train/compile_request.h"
#include "cnntrain/train/stages.h"
#include "cnntrain/train/task.h"

namespace cnntrain::train {
namespace {

/// Sizes the ring for the batches that a consumer holds at once and one that is ready.
void let_hold(data::LoaderSettings& loader, std::int64_t held, const std::vector<data::Field>& fields) {
    loader.batches_ahead = std::max(loader.batches_ahead, held + 1);
    const auto batch_bytes = static_cast<std::int64_t>(data::total_bytes(fields));
    loader.ring_bytes = std::max(loader.ring_bytes, checked_product(held + 3, batch_bytes, "the ring of batches"));
}

}  // namespace

std::uint64_t Task::input_bytes(const data::LoaderSettings& loader) const {
    return data::ring_size(batch_fields(data::Split::train, 1), loader).bytes +
           index_bytes(used_samples(data::Split::train));
}

std::uint64_t index_bytes(std::int64_t samples) {
    constexpr std::uint64_t kPerSample = sizeof(std::uint64_t) + sizeof(std::uint32_t);  // place in a file, order
    return static_cast<std::uint64_t>(samples) * kPerSample;
}

data::LoaderSettings loader_settings(const config::Settings& settings, std::int64_t first_sample) {
    data::LoaderSettings result;
    result.micro_batch = settings.training.micro_batch_size;
    result.first_sample = first_sample;
    result.threads = core_budget(settings.run).input_threads;
    if (settings.run.prefetch_depth) result.batches_ahead = *settings.run.prefetch_depth;
    return result;
}

data::LoaderSettings training_loader_settings(const config::Settings& settings, const schedule::Placement& placement,
                                              const std::vector<data::Field>& fields, std::int64_t first_sample) {
    data::LoaderSettings result = loader_settings(settings, first_sample);
    result.micro_batch = placement.samples;
    const std::int64_t held = schedule::batches_in_flight(placement);
    if (held > 1) let_hold(result, held, fields);
    return result;
}

data::LoaderSettings validation_loader_settings(const config::Settings& settings) {
    data::LoaderSettings result = loader_settings(settings, 0);
    if (settings.device.latency && !settings.run.prefetch_depth) result.batches_ahead = 1;
    return result;
}

data::LoaderSettings request_loader_settings(const config::Settings& settings, const std::vector<data::Field>& fields) {
    data::LoaderSettings result = loader_settings(settings, 0);
    let_hold(result, settings.main.inference_threads, fields);
    return result;
}

}  // namespace cnntrain::train
