// Classification of images into C classes: CIFAR, ImageNet and folders of photos, with a convolutional network.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/data/sets.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/task.h"
#include "tasks/image_classification/options.h"
#include "tasks/teacher.h"

namespace cnntrain::tasks {

using run::Samples;
using run::TaskDescription;
using run::Topic;

class ImageClassification final : public run::Task, public run::Classifier, public run::Scorer {
public:
    /// `backend`: for which graphs are built; it must outlive the task. `seed`: of the images' order and augmentation.
    ImageClassification(const options::ParseResult& arguments, const backend::Backend& backend, std::uint64_t seed);

    const run::TaskTraits& traits() const override { return traits_; }
    const metrics::Columns& columns() const override;
    TaskDescription description() const override;
    std::string printed(const run::PrintedRow& row) const override;

    std::unique_ptr<Samples> open(data::Split split) const override;
    std::int64_t samples(data::Split split, run::Counted how) const override;
    std::vector<data::Field> batch_fields(data::Split split, std::int64_t samples) const override;
    std::uint64_t input_bytes(const data::LoaderSettings& loader) const override;
    std::vector<std::string> class_names() const override;

    schedule::RunPlan plan(std::int64_t samples) const override;
    run::Rate rate(const schedule::RunPlan& plan) const override;
    graph::Graph graph(run::GraphUse use, const std::vector<data::Field>& fields) const override;
    std::vector<Topic> dry_run_topics(options::Command command) const override;

    /// The validation split if --data-dir is the folder of a data set; otherwise the JPEG and PNG files in that folder,
    /// or the one file that it names.
    Subjects subjects(const data::LoaderSettings& loader) const override;
    std::string_view label_field() const override;
    Features features_graph(const std::vector<data::Field>& fields) const override;
    std::unique_ptr<Samples> in_order(data::Split split, bool augmented) const override;

    /// Photos with several labels have results that are no sums over photos, and no class.
    const run::Classifier* classifier() const override { return several() ? nullptr : this; }
    const run::Classifier* solvable() const override { return this; }
    const run::Scorer* scorer() const override { return several() ? this : nullptr; }
    run::Scored scores(const run::RowOutputs& logits, const metrics::Sums& sums) const override;
    bool counts_labels() const override { return true; }
    std::string_view labels_read() const override { return data::kLabels; }
    std::unique_ptr<Samples> asked() const override;
    run::Scored answers(const run::RowOutputs& logits) const override;

private:
    bool several() const { return own().data.labels.several(); }

    void check_classes() const;
    Teacher teacher() const;
    /// Number of samples that a run uses, and its origin.
    enum class Known { published, counted, estimated };
    struct Count {
        std::int64_t samples = 0;
        Known how = Known::published;
    };
    std::int64_t published(data::Split split) const;
    Count count_in_files(data::Split split) const;
    const Count& used(data::Split split) const;
    const std::vector<double>& class_weights() const;
    Topic data_topic(options::Command command) const;
    Topic input_topic(options::Command command) const;
    bool holds_dataset() const;
    std::shared_ptr<const data::Dataset> image_folder() const;
    data::PixelFormat host_format() const;

    options::ParseResult arguments_;
    const options::Settings& settings() const { return arguments_.settings; }
    const ImageSettings& own() const { return image_settings(settings()); }
    const backend::Backend& backend_;
    std::uint64_t seed_;
    run::TaskTraits traits_;
    run::EvaluationGraphs graphs_{settings(), backend_};
    mutable std::map<data::Split, Count> used_;  // set once counted
    mutable std::optional<std::vector<double>> class_weights_;
    mutable std::shared_ptr<const data::Dataset> image_folder_;
    /// Set once asked for: the data may say how many classes there are.
    mutable std::optional<metrics::Columns> columns_;
};

// The row of image classification in the table of tasks.

run::TaskRow image_classification_row();

// Texts of image classification about a run: its name, summary, learning rate, and the facts for MLPerf's log.

/// TaskDescription::run_name, such as `RN20_bs32_BN_16.16`.
std::string image_run_name(const options::Settings& settings);

// Parts of the summary.
std::string summary_head(const options::ParseResult& arguments);
std::string summary_training(const options::Settings& settings);
std::string summary_tail(const options::Settings& settings);

/// Topics of the optimiser and the learning rate, for a dry run.
std::vector<run::Topic> image_rate_topics(const options::Settings& settings, const schedule::RunPlan& plan);

/// Empty for data without a published set, whose epochs MLPerf's log uses.
std::optional<run::MlperfBenchmark> mlperf_benchmark(const options::ParseResult& arguments);

}  // namespace cnntrain::tasks
