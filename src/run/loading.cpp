#include "cnntrain/run/weights.h"

#include <algorithm>
#include <utility>

#include "cnntrain/base/checked.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/task.h"

namespace cnntrain::run {
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
           index_bytes(samples(data::Split::train, Counted::used));
}

std::uint64_t index_bytes(std::int64_t samples) {
    constexpr std::uint64_t kPerSample = sizeof(std::uint64_t) + sizeof(std::uint32_t);  // place in a file, order
    return static_cast<std::uint64_t>(samples) * kPerSample;
}

data::LoaderSettings loader_settings(const options::Settings& settings, std::int64_t first_sample) {
    data::LoaderSettings result;
    result.micro_batch = settings.training.micro_batch_size;
    result.first_sample = first_sample;
    result.threads = core_budget(settings.run).input_threads;
    if (settings.run.prefetch_depth) result.batches_ahead = *settings.run.prefetch_depth;
    return result;
}

data::LoaderSettings training_loader_settings(const options::Settings& settings, const schedule::Placement& placement,
                                              const std::vector<data::Field>& fields, std::int64_t first_sample) {
    data::LoaderSettings result = loader_settings(settings, first_sample);
    result.micro_batch = placement.samples;
    const std::int64_t held = schedule::batches_in_flight(placement);
    if (held > 1) let_hold(result, held, fields);
    return result;
}

data::LoaderSettings validation_loader_settings(const options::Settings& settings) {
    data::LoaderSettings result = loader_settings(settings, 0);
    if (settings.device.latency && !settings.run.prefetch_depth) result.batches_ahead = 1;
    return result;
}

data::LoaderSettings request_loader_settings(const options::Settings& settings,
                                             const std::vector<data::Field>& fields) {
    data::LoaderSettings result = loader_settings(settings, 0);
    let_hold(result, settings.main.inference_threads, fields);
    return result;
}

// Parts that tasks have in common: samples from a data set, a check of their columns.

namespace {

class DatasetSamples final : public Samples {
public:
    DatasetSamples(std::shared_ptr<const data::Dataset> dataset, data::Split split, std::uint64_t seed)
        : dataset_(std::move(dataset)), split_(split), seed_(seed) {}

    std::int64_t count() const override { return dataset_->size(); }
    data::Origin origin() const override { return dataset_->origin(); }
    std::string describe(std::int64_t index) const override { return dataset_->describe(index); }
    std::vector<data::Field> fields(std::int64_t micro_batch) const override {
        return data::batch_fields(dataset_->fields(), completed({.micro_batch = micro_batch}));
    }
    std::unique_ptr<data::Stream> stream(const data::LoaderSettings& settings) const override {
        return std::make_unique<data::Loader>(dataset_, completed(settings));
    }

private:
    data::LoaderSettings completed(data::LoaderSettings settings) const {
        settings.feed = split_ == data::Split::train ? data::Feed::training : data::Feed::sweeps;
        settings.seed = seed_;
        return settings;
    }

    std::shared_ptr<const data::Dataset> dataset_;
    data::Split split_;
    std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<Samples> dataset_samples(std::shared_ptr<const data::Dataset> dataset, data::Split split,
                                         std::uint64_t seed) {
    return std::make_unique<DatasetSamples>(std::move(dataset), split, seed);
}

void check_columns(const graph::Graph& graph, const std::vector<metrics::Column>& columns) {
    std::vector<std::string> scalars;
    for (const graph::Output& output : graph.outputs()) {
        if (graph.desc(output.value) == TensorDesc{DType::f32, {}}) scalars.push_back(output.name);
    }
    for (const std::string& output : metrics::outputs_of(columns)) {
        const bool counted_by_class = output == kRecallSum || output == kClassesSeen;  // by the host
        if (counted_by_class || std::ranges::find(scalars, output) != scalars.end()) continue;
        throw Error(ErrorKind::internal, "a column of the task reads the output '" + output +
                                             "', which the graph does not have; its f32[] outputs: " + joined(scalars));
    }
}

metrics::Column balanced_accuracy_column() {
    return {.name = kBalancedColumn,
            .output = kRecallSum,
            .divisor = kClassesSeen,
            .scale = 100,
            .at_end = true,
            .label = "balanced"};
}

std::string balanced_accuracy_line(const Task& task, const metrics::ValidationRow& row) {
    const auto balanced = task.metric(Metric::balanced_accuracy, row);
    if (!balanced) return "";
    return formatted("\nValidation loss: %6.4f, balanced: %6.3f %% [%s]", task.metric(Metric::loss, row).value_or(0),
                     *balanced, row.name.c_str());
}

std::optional<double> Task::metric(Metric metric, const metrics::ValidationRow& row) const {
    const auto found = traits().metrics.find(metric);
    if (found == traits().metrics.end()) return std::nullopt;
    double sum = 0;
    for (const std::string& column : found->second) {
        const auto value = metrics::result_of(row, columns(), column);
        if (!value) return std::nullopt;
        sum += *value;
    }
    return sum;
}

std::string Task::run_name(std::string_view tag) const {
    const TaskDescription about = description();
    return about.run_name + (about.tags_run_name ? "_" + std::string(tag) : "");
}

FirstWeights Task::first_weights() const {
    FirstWeights weights = traits().first_weights;
    weights.classes = class_names();
    return weights;
}

}  // namespace cnntrain::run
