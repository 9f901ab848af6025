// What tasks have in common: samples from a data set, a check of their columns.
#include <algorithm>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/format.h"
#include "cnntrain/base/listed.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/train/dataset_samples.h"
#include "cnntrain/train/runs.h"

namespace cnntrain::train {
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
    const auto column = [&](const char* name) { return metrics::result_of(row, columns(), name); };
    switch (metric) {
        case Metric::accuracy:
            return column(kTop1Column);
        case Metric::balanced_accuracy:
            return column(kBalancedColumn);
        case Metric::top_5:
            return column(kTop5Column);
        case Metric::loss:
            return column(kValidationLossColumn);
    }
    return std::nullopt;
}

}  // namespace cnntrain::train
