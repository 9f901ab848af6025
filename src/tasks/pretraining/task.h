// BERT's pretraining: prediction of masked words and of the next sentence.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/config/parse.h"
#include "cnntrain/nn/bert.h"
#include "cnntrain/train/task.h"
#include "tasks/pretraining/settings.h"

namespace cnntrain::tasks {

using train::Samples;
using train::TaskDescription;
using train::Topic;

class Pretraining final : public train::Task, public train::WordPredictor {
public:
    /// `backend`: executes the graphs and must outlive the task. `seed`: of the order of sequences and of generated
    /// ones.
    Pretraining(const config::ParseResult& arguments, const backend::Backend& backend, std::uint64_t seed);

    const metrics::Columns& columns() const override { return columns_; }
    /// The loss is the sum of both losses; the accuracy is that of masked words.
    std::optional<double> metric(train::Metric metric, const metrics::ValidationRow& row) const override;
    std::string loss() const override;
    std::string printed(const metrics::TrainingRow& row) const override;
    std::string printed(const metrics::ValidationRow& row) const override;
    std::string printed(const metrics::InferenceRow& row) const override;

    TaskDescription description() const override;
    /// "pretraining_lamb_20221003_113835.123", with the local time; "pretraining_evaluation_20221003_113835.123" for an
    /// evaluation.
    std::string run_name(std::string_view tag) const override;

    /// Split::validation reads --valid-file.
    std::unique_ptr<Samples> open(data::Split split) const override;
    bool has_real_data() const override;
    std::int64_t published_samples(data::Split split) const override;
    std::int64_t used_samples(data::Split split) const override;

    /// An epoch is `samples` / --duplicate-factor.
    schedule::RunPlan plan(std::int64_t samples) const override;
    std::function<double(std::int64_t)> learning_rate(const schedule::RunPlan& plan) const override;
    std::int64_t checkpoint_lag() const override;
    bool takes_over_optimiser() const override { return true; }

    graph::Graph training_graph(const std::vector<data::Field>& fields) const override;
    graph::Graph evaluation_graph(const std::vector<data::Field>& fields) const override;

    const train::WordPredictor* word_predictor() const override { return this; }
    graph::Graph words_graph(const std::vector<data::Field>& fields) const override;
    /// The training text where no other is given.
    data::Split words_split() const override;

    std::vector<Topic> dry_run_topics(config::Command command) const override;
    std::vector<Topic> rate_topics(const schedule::RunPlan& plan) const override;
    std::vector<data::Field> batch_fields(data::Split split, std::int64_t samples) const override;

private:
    const config::Settings& settings() const { return arguments_.settings; }
    const PretrainingSettings& own() const { return pretraining_settings(settings()); }
    /// For runs with a number of steps.
    std::string training_summary() const;
    metrics::Position position(const metrics::TrainingRow& row) const;
    data::PretrainingSettings text(data::Split split) const;
    nn::BertRequest request(const std::vector<data::Field>& fields) const;
    /// The reason why files are missing; "" if they exist or are not needed.
    std::string missing_files(data::Split split) const;
    std::int64_t epoch_samples(std::int64_t samples) const;

    config::ParseResult arguments_;
    const backend::Backend& backend_;
    std::uint64_t seed_;
    metrics::Columns columns_;
    mutable double steps_per_epoch_ = 0;  // of the last planned training; 0: none
};

}  // namespace cnntrain::tasks
