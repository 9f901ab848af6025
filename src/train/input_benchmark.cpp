#include "train/input_benchmark.h"

#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include "cnntrain/base/size_text.h"
#include "cnntrain/config/parse.h"
#include "train/stopwatch.h"

namespace cnntrain::train {

namespace {

std::string stage_line(std::string_view name, double seconds, std::int64_t images) {
    std::array<char, 100> line{};
    const auto count = static_cast<double>(images);
    std::snprintf(line.data(), line.size(), "  %-22s%10.0f imgs/sec/core%10.3f ms", std::string(name).c_str(),
                  count / seconds, 1e3 * seconds / count);
    return line.data();
}

}  // namespace

void benchmark_input(data::Stream& stream, std::int64_t batches, metrics::RunLog& log,
                     const std::function<bool()>& stop_requested) {
    const Stopwatch watch;
    for (std::int64_t i = 0; i < batches && !(stop_requested && stop_requested()); ++i) {
        stream.next();
        const data::StreamStats now = stream.stats();
        log.progress(
            {i + 1, 0, batches, static_cast<double>(now.images) / watch.seconds(), watch.seconds(), "batches"});
    }
    const double seconds = watch.seconds();
    const data::StreamStats stats = stream.stats();
    const double rate = static_cast<double>(stats.images) / seconds;
    log.line("mean throughput: " + config::to_string(config::Value{rate}) + " imgs/sec");
    struct Stage {
        std::string_view name;
        double seconds;
    };
    const std::array<Stage, 5> stages = {{{"read and check", stats.stages.read},
                                          {"parse", stats.stages.parse},
                                          {"decode", stats.stages.decode},
                                          {"resize and store", stats.stages.resize},
                                          {"all stages", stats.work_seconds}}};
    for (const Stage& stage : stages) {
        if (stage.seconds > 0) log.line(stage_line(stage.name, stage.seconds, stats.filled));
    }
    log.line("memory: ring " + size_text(stats.ring_bytes) + ", workers " + size_text(stats.worker_bytes) +
             ", data set " + size_text(stats.dataset_bytes) + ", shared cache " + size_text(stats.cache_bytes));
    if (stats.damaged > 0) log.line(std::to_string(stats.damaged) + " images could not be decoded");
}

}  // namespace cnntrain::train
