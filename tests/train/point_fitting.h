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

    const TaskTraits& traits() const override { return traits_; }
    const metrics::Columns& columns() const override;
    TaskDescription description() const override;
    std::string printed(const PrintedRow& row) const override;

    std::unique_ptr<Samples> open(data::Split split) const override;
    std::int64_t samples(data::Split split, Counted how) const override;
    std::vector<data::Field> batch_fields(data::Split, std::int64_t samples) const override {
        return open(data::Split::train)->fields(samples);
    }

    schedule::RunPlan plan(std::int64_t samples) const override;
    Rate rate(const schedule::RunPlan& plan) const override;
    graph::Graph graph(GraphUse use, const std::vector<data::Field>& fields) const override;
    std::vector<Topic> dry_run_topics(options::Command) const override { return {{"Data", "64 points"}}; }

private:
    const options::Settings& settings_;
    const backend::Backend& backend_;
    TaskTraits traits_{.loss = "error"};
};

}  // namespace cnntrain::run::testing
