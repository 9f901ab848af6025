// Which of C classes is on an image: CIFAR and ImageNet, with a convolutional network.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/config/parse.h"
#include "cnntrain/data/image_folder.h"
#include "cnntrain/data/settings.h"
#include "train/tasks/task.h"

namespace cnntrain::train {

inline constexpr const char* kTop1Column = "val_acc";
/// ImageNet's columns of validation.csv behind the documented ones.
inline constexpr const char* kTop5Column = "val_top5_acc";
inline constexpr const char* kValidationLossColumn = "val_loss";

class ImageClassification final : public Task {
public:
    /// `backend`: what the graphs are made for; it must outlive the task. `seed`: of the order and the transformations of the images.
    ImageClassification(const config::ParseResult& arguments, const backend::Backend& backend, std::uint64_t seed);

    const metrics::Columns& columns() const override;
    std::string loss() const override;
    std::string printed(const metrics::TrainingRow& row) const override;
    std::string printed(const metrics::ValidationRow& row) const override;
    std::string printed(const metrics::InferenceRow& row) const override;

    TaskDescription description() const override;
    std::string run_name(std::string_view tag) const override;

    std::unique_ptr<Samples> open(data::Split split) const override;
    bool has_real_data() const override;
    std::int64_t published_samples(data::Split split) const override;
    std::int64_t used_samples(data::Split split) const override;

    schedule::RunPlan plan(std::int64_t samples) const override;
    std::function<double(std::int64_t)> learning_rate(const schedule::RunPlan& plan) const override;

    graph::Graph training_graph(const std::vector<data::Field>& fields) const override;
    graph::Graph evaluation_graph(const std::vector<data::Field>& fields) const override;
    /// With the extra output kLogits.
    graph::Graph classifying_graph(const std::vector<data::Field>& fields) const;

    std::vector<Topic> dry_run_topics(config::Command command) const override;

    /// The validation split, or the JPEG files of a folder.
    struct Images {
        std::unique_ptr<data::Stream> stream;
        std::vector<std::string> names;  // empty for a data set
    };
    /// A data set's folder holds its files; any other folder is one of JPEG files.
    Images images_to_classify(const std::function<bool()>& stop_requested) const;

private:
    /// Samples that a run uses, and how they are known.
    enum class Known { published, counted, estimated };
    struct Count {
        std::int64_t samples = 0;
        Known how = Known::published;
    };
    Count count_in_files(data::Split split) const;
    const Count& used(data::Split split) const;
    Topic model_topic() const;
    Topic data_topic(config::Command command) const;
    Topic input_topic(config::Command command) const;
    std::vector<data::Field> expected_fields(std::int64_t samples) const;
    bool holds_dataset() const;
    std::shared_ptr<data::ImageFolder> image_folder() const;
    data::PixelFormat host_format() const;

    config::ParseResult arguments_;
    const config::Settings& settings() const { return arguments_.settings; }
    const backend::Backend& backend_;
    std::uint64_t seed_;
    mutable std::map<data::Split, Count> used_;  // once counted
};

}  // namespace cnntrain::train
