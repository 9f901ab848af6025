// A task of a test's own: a plane is fitted to points. It has its own data, an operation of its own, columns and a
// unit.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/options/settings.h"
#include "cnntrain/run/task.h"
#include "train/by_task.h"

namespace cnntrain::run::testing {

/// Points x in {-2..2}^3 with the target 3 x0 - 2 x1 + x2 + 20.
class PointFitting final : public Task {
public:
    static constexpr std::int64_t kTraining = 64;
    static constexpr std::int64_t kValidation = 19;

    /// Both must outlive the task.
    PointFitting(const options::Settings& settings, const backend::Backend& backend)
        : settings_(settings), backend_(backend) {}

    const metrics::Columns& columns() const override;
    std::string loss() const override { return "error"; }
    std::string printed(const metrics::TrainingRow& row) const override;
    std::string printed(const metrics::ValidationRow& row) const override;
    std::string printed(const metrics::InferenceRow& row) const override;

    TaskDescription description() const override;
    std::string run_name(std::string_view tag) const override { return "plane_" + std::string(tag); }

    std::unique_ptr<Samples> open(data::Split split) const override;
    bool has_real_data() const override { return true; }
    std::int64_t published_samples(data::Split split) const override;
    std::int64_t used_samples(data::Split split) const override { return published_samples(split); }

    schedule::RunPlan plan(std::int64_t samples) const override;
    std::function<double(std::int64_t)> learning_rate(const schedule::RunPlan& plan) const override;

    graph::Graph training_graph(const std::vector<data::Field>& fields) const override;
    graph::Graph evaluation_graph(const std::vector<data::Field>& fields) const override;

    std::vector<Topic> dry_run_topics(options::Command) const override { return {{"Data", "64 points"}}; }
    std::vector<Topic> rate_topics(const schedule::RunPlan&) const override { return {}; }
    std::vector<data::Field> batch_fields(data::Split, std::int64_t samples) const override {
        return open(data::Split::train)->fields(samples);
    }

private:
    const options::Settings& settings_;
    const backend::Backend& backend_;
};

}  // namespace cnntrain::run::testing
