#include "run/monitor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/options/option.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/weights/checkpoint.h"
#include "run/averaging.h"

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

namespace {

/// A row with all columns of the task.
metrics::ValidationRow empty_row(const Task& task) {
    metrics::ValidationRow row;
    row.results.resize(task.columns().validation.size());
    return row;
}

}  // namespace

Metric compared_metric(const Task& task, const ValidationSettings& settings) {
    const metrics::ValidationRow row = empty_row(task);
    if (!settings.keep_best) return task.metric(Metric::accuracy, row) ? Metric::accuracy : Metric::loss;
    if (task.metric(*settings.keep_best, row)) return *settings.keep_best;
    std::vector<std::string> there;
    for (const std::string_view name : spellings(Metric{})) {
        if (task.metric(*named<Metric>(name), row)) there.emplace_back(name);
    }
    throw Error(ErrorKind::usage, "--keep-best " + std::string(spelling(*settings.keep_best)) +
                                      ": validations of this network do not have it, but " + listed(there));
}

namespace {

std::string value_text(Metric metric, double value) {
    return formatted(metric == Metric::loss ? "%.4f" : "%.3f", value);
}

}  // namespace

Monitor::Monitor(const Task& task, std::unique_ptr<Evaluator> evaluator, const ValidationSettings& settings,
                 const schedule::RunPlan& plan, metrics::Observers& observers, FileSystem& files,
                 std::string class_folder)
    : task_(task),
      evaluator_(std::move(evaluator)),
      settings_(settings),
      plan_(plan),
      planned_(settings, plan),
      observers_(observers),
      files_(files),
      class_folder_(std::move(class_folder)),
      class_names_(task.class_names()),
      result_(compared_metric(task, settings)) {
    observers_.on(metrics::Row{metrics::record(empty_row(task), task.columns()), metrics::Row::Use::announced});
}

/// The name of the checkpoint that the plan writes at this iteration, or "iteration-<n>".
std::string Monitor::name_of(std::int64_t iteration) const {
    const auto saved = plan_.next_checkpoint(iteration - 1);
    if (iteration == 0 || (saved && saved->end() == iteration))
        return weights::checkpoint_prefix("", iteration - task_.traits().checkpoint_lag).substr(1);
    return task_.description().update + "-" + std::to_string(iteration);
}

std::optional<metrics::ValidationRow> Monitor::run(const std::string& name, std::int64_t iteration) {
    metrics::ValidationRow row;
    row.name = name;
    row.iteration = iteration;
    row.epoch = plan_.epoch_at(iteration);
    observers_.on(metrics::EvaluationBegan{row.epoch});
    std::optional<metrics::ValidationRow> result = evaluator_->run(row, observers_);
    if (!result) return result;
    observers_.on(metrics::Row{reported(task_, *result)});
    const ClassCounts& counts = evaluator_->class_counts();
    if (class_folder_.empty() || counts.classes().empty()) return result;
    const std::string path = class_folder_ + "/" + std::string(kClassTable);
    const bool is_new = !exists(files_, path);
    const std::string table = is_new ? class_table_header() : read_text(files_, path);
    const std::string rows = class_table_rows(*result, counts, class_names_, table.substr(0, table.find('\n')));
    files_.append(path, is_new ? table + rows : rows);
    return result;
}

Monitor::Outcome Monitor::validate(std::int64_t iteration, const backend::Executable& training,
                                   const WeightAverage* average) {
    evaluator_->load_from(training);
    std::optional<metrics::ValidationRow> row = run(name_of(iteration), iteration);
    if (row && average != nullptr) {
        evaluator_->load(average->values());
        row = run(std::string(kAverageName) + "-" + std::to_string(iteration), iteration);
    }
    if (!row) return Outcome::stopped;
    // If the loss is not finite, the other results are of no value.
    const double loss = task_.metric(Metric::loss, *row).value_or(0);
    const double value = std::isfinite(loss) ? *task_.metric(result_.metric(), *row) : loss;
    const bool is_better = result_.add(value, iteration);
    observers_.on(metrics::ValidationCompared{is_better});
    return is_better ? Outcome::better : Outcome::not_better;
}

std::string Monitor::best_text() const {
    std::string metric(spelling(result_.metric()));
    for (const std::string& name : task_.traits().metrics.at(result_.metric())) {
        for (const metrics::Column& column : task_.columns().validation) {
            if (column.name == name && column.divisor == kScored) metric = column.label;
        }
    }
    if (!result_.best()) return "no finite " + metric;
    return metric + " " + value_text(result_.metric(), result_.best()->value) + " of " + task_.description().update +
           " " + std::to_string(result_.best()->iteration);
}

std::string Monitor::end_text() const {
    const std::string text = counted(result_.without_better(), "validation");
    return result_.best() ? text + " without a better result than " + best_text() : text + " with " + best_text();
}

void Monitor::restore(const std::string& state) {
    if (result_.restore(state)) return;
    observers_.line("The best result so far was compared by another metric; it is looked for anew, by " +
                    std::string(spelling(result_.metric())));
}

namespace {

using nlohmann::json;

}  // namespace

bool BestResult::add(double value, std::int64_t iteration) {
    last_ = iteration;
    const bool better =
        std::isfinite(value) && (!best_ || (less_is_better(metric_) ? value < best_->value : value > best_->value));
    if (!better) {
        ++without_better_;
        return false;
    }
    best_ = {value, iteration};
    without_better_ = 0;
    return true;
}

std::string BestResult::state() const {
    json state = {{"last", last_}, {"metric", spelling(metric_)}, {"without_better", without_better_}};
    if (best_) state["best"] = {{"value", best_->value}, {"iteration", best_->iteration}};
    return state.dump();
}

bool BestResult::restore(const std::string& text) {
    try {
        const json state = json::parse(text);
        last_ = state.at("last").get<std::int64_t>();
        if (state.at("metric").get<std::string>() != spelling(metric_)) return false;
        without_better_ = state.at("without_better").get<std::int64_t>();
        best_.reset();
        if (const auto best = state.find("best"); best != state.end())
            best_ = {best->at("value").get<double>(), best->at("iteration").get<std::int64_t>()};
        return true;
    } catch (const json::exception&) {
        throw Error(ErrorKind::data, "the record of validations is damaged: " + text);
    }
}

}  // namespace cnntrain::run
