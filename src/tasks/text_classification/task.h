// Text classification: BERT with a dense layer on its pooled output assigns one of C classes to a text or pair of
// texts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/config/parse.h"
#include "cnntrain/data/labelled_text.h"
#include "cnntrain/nn/bert.h"
#include "cnntrain/train/task.h"
#include "tasks/text_classification/settings.h"

namespace cnntrain::tasks {

using train::Samples;
using train::TaskDescription;
using train::Topic;

class TextClassification final : public train::Task, public train::Classifier {
public:
    /// `backend`: executes the graphs and must outlive the task. `seed`: of the order of texts.
    TextClassification(const config::ParseResult& arguments, const backend::Backend& backend, std::uint64_t seed);

    const metrics::Columns& columns() const override;
    std::string loss() const override;
    std::string printed(const metrics::TrainingRow& row) const override;
    std::string printed(const metrics::ValidationRow& row) const override;
    std::string printed(const metrics::InferenceRow& row) const override;

    TaskDescription description() const override;
    std::string run_name(std::string_view tag) const override;

    /// Split::validation reads --validation-file; without it, --data-dir if the command line of an evaluation has it;
    /// otherwise the held-out share of the training file.
    std::unique_ptr<Samples> open(data::Split split) const override;
    bool has_real_data() const override { return true; }
    std::int64_t published_samples(data::Split split) const override;
    std::int64_t used_samples(data::Split split) const override;

    schedule::RunPlan plan(std::int64_t samples) const override;
    std::function<double(std::int64_t)> learning_rate(const schedule::RunPlan& plan) const override;
    /// The classifier may be missing or have other classes, and heads of pretraining are ignored.
    train::FirstWeights first_weights() const override;
    /// The classes of the checkpoint that the run reads; without one, those of the training file.
    std::vector<std::string> class_names() const override;

    graph::Graph training_graph(const std::vector<data::Field>& fields) const override;
    graph::Graph evaluation_graph(const std::vector<data::Field>& fields) const override;
    std::vector<Topic> dry_run_topics(config::Command command) const override;
    std::vector<Topic> rate_topics(const schedule::RunPlan& plan) const override;
    std::vector<data::Field> batch_fields(data::Split split, std::int64_t samples) const override;

    const Classifier* classifier() const override { return this; }
    /// The texts of --data-dir without labels if the command line has it; otherwise the validation split.
    Subjects subjects(const std::function<bool()>& stop_requested) const override;
    graph::Graph classifying_graph(const std::vector<data::Field>& fields) const override;
    std::string_view label_field() const override;
    Features features_graph(const std::vector<data::Field>& fields) const override;
    std::unique_ptr<Samples> in_order(data::Split split, bool augmented) const override;

private:
    using Texts = std::shared_ptr<const data::LabelledText>;

    const config::Settings& settings() const { return arguments_.settings; }
    const TextSettings& own() const { return text_settings(settings()); }
    bool is_on_line(std::string_view key) const;
    void check_vocabulary() const;
    bool holds_out() const;
    Texts read(const std::string& file, bool labels, const std::vector<std::string>& classes) const;
    const Texts& training_file() const;
    Texts texts(data::Split split) const;
    nn::BertClassificationRequest request(const std::vector<data::Field>& fields) const;
    graph::Graph built_graph(const std::vector<data::Field>& fields, bool with_logits) const;
    graph::Graph evaluating_graph(const std::vector<data::Field>& fields, bool with_logits) const;

    config::ParseResult arguments_;
    const backend::Backend& backend_;
    std::uint64_t seed_;
    metrics::Columns columns_;
    std::vector<std::string> recorded_classes_;  // classes of the checkpoint that the run reads; empty: no checkpoint
    mutable Texts training_file_;                // null until it is read
    mutable Texts validation_file_;              // the same
};

}  // namespace cnntrain::tasks
