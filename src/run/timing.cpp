#include "run/timing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <string_view>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/options/parse.h"

namespace cnntrain::run {
namespace {

double percentile(const std::vector<double>& sorted, double share) {
    const double position = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return std::lerp(sorted[below], sorted[above], position - std::floor(position));
}

}  // namespace

metrics::Latencies summarise(std::vector<double> milliseconds) {
    CNNTRAIN_CHECK(!milliseconds.empty(), "no call was timed");
    std::ranges::sort(milliseconds);
    metrics::Latencies result;
    result.mean =
        std::accumulate(milliseconds.begin(), milliseconds.end(), 0.0) / static_cast<double>(milliseconds.size());
    result.p99 = percentile(milliseconds, 0.99);
    result.p99_9 = percentile(milliseconds, 0.999);
    result.max = milliseconds.back();
    return result;
}

data::Batch CreationTap::next() {
    data::Batch batch = source_.next();
    created_ = std::max(batch.created, start_);
    return batch;
}

double CreationTap::milliseconds_since_creation() const {
    return 1e3 * seconds_since(created_);
}

namespace {

std::string stage_line(std::string_view name, double seconds, std::int64_t samples, const metrics::Unit& unit) {
    const auto count = static_cast<double>(samples);
    return formatted("  %-22s%10.0f %ss/sec/core%10.3f ms", std::string(name).c_str(), count / seconds,
                     unit.brief.c_str(), 1e3 * seconds / count);
}

}  // namespace

int measure_input_speed(data::Stream& stream, std::int64_t batches, const metrics::Unit& unit,
                        metrics::Observers& observers, const std::function<bool()>& stop_requested) {
    const auto stopped = [&] { return stop_requested && stop_requested(); };
    // Skips the batches of a full ring: they are available at once and say nothing about the rate of the pipeline.
    const std::int64_t ring = stream.stats().ring_batches;
    for (std::int64_t i = 0; i < ring && !stopped(); ++i)
        stream.next();
    batches = std::max(batches, 2 * ring);
    const std::int64_t images_before = stream.stats().images;
    const Stopwatch watch;
    double rate = 0;
    for (std::int64_t i = 0; i < batches && !stopped(); ++i) {
        stream.next();
        rate = static_cast<double>(stream.stats().images - images_before) / watch.seconds();
        observers.on(metrics::Progress{i + 1, 0, batches, rate, watch.seconds(), "batches", unit.many});
    }
    if (stopped()) {
        observers.line("The measurement of the input was stopped by a signal.");
        return kInterruptedExitCode;
    }
    const data::StreamStats stats = stream.stats();
    observers.on(
        metrics::Result{"mean throughput: " + options::to_string(options::Value{rate}) + " " + unit.brief + "s/sec"});
    struct Stage {
        std::string_view name;
        double seconds;
    };
    const std::array<Stage, 6> stages = {{{"read and check", stats.stages.read},
                                          {"parse", stats.stages.parse},
                                          {"decode", stats.stages.decode},
                                          {"resize and store", stats.stages.resize},
                                          {"augment", stats.stages.augment},
                                          {"all stages", stats.work_seconds}}};
    for (const Stage& stage : stages) {
        if (stage.seconds > 0) observers.line(stage_line(stage.name, stage.seconds, stats.filled, unit));
    }
    observers.line("memory: ring " + size_text(stats.ring_bytes) + ", workers " + size_text(stats.worker_bytes) +
                   ", data set " + size_text(stats.dataset_bytes));
    if (stats.damaged > 0) observers.line(std::to_string(stats.damaged) + " " + unit.many + " could not be decoded");
    return 0;
}

}  // namespace cnntrain::run
