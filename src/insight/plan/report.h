// A plan as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "cnntrain/parallel/pipeline.h"
#include "cnntrain/run/task.h"
#include "insight/plan/line.h"
#include "insight/plan/times.h"

namespace cnntrain::plan {

std::string model_text(const run::TaskDescription& task, const PlannedNetwork& network, const PlannedLine& line);

class PlanReport {
public:
    /// `unit`: samples in the plural. `without_copies`: why copies of weights are not counted; empty: they are.
    PlanReport(const FunctionNames& names, const PlannedNetwork& network, const PlannedLine& line, std::string unit,
               std::string without_copies)
        : names_(names),
          network_(network),
          line_(line),
          unit_(std::move(unit)),
          without_copies_(std::move(without_copies)) {}

    /// Stages, memory, bubble, balance, speed and chart. Lists the stages that need more than `limit_bytes`.
    std::string described(const Prediction& plan, std::int64_t micro_batches, std::optional<std::uint64_t> limit_bytes,
                          std::size_t width) const;
    /// The proposed splits as options. `of_line`: the command line's own plan; null if it has no pipeline.
    std::string proposed(const Prediction& better, const Prediction* of_line) const;

private:
    std::string objections(const Prediction& plan, std::int64_t micro_batches,
                           std::optional<std::uint64_t> limit_bytes) const;
    std::string stage_table(const Prediction& plan) const;
    std::vector<std::string> stage_row(std::size_t number, const StageCost& stage, double whole_ms) const;
    std::string memory_terms() const;
    std::string formula() const;
    std::string rate(double ms, std::int64_t micro_batches) const;
    std::string speed(const Prediction& plan, std::int64_t micro_batches) const;
    std::string arguments_for(const Prediction& plan) const;

    const FunctionNames& names_;
    const PlannedNetwork& network_;
    const PlannedLine& line_;
    std::string unit_;
    std::string without_copies_;
};

// Parts of a plan's text.

/// The schedule, with a row per stage and a column per tick: "B0F3" means the backward pass of micro-batch 0, then the
/// forward pass of micro-batch 3. Lines are at most `width` columns long, if the first and the last tick fit; middle
/// ticks that do not fit are replaced by "...".
std::string chart_text(const schedule::Pipeline& pipeline, std::int64_t micro_batches, std::size_t width);

/// "Model:         resnet 50, ..." with a line end.
std::string topic(const std::string& name, const std::string& text);
/// Formats a share as "81.0 %".
std::string percent(double share);

}  // namespace cnntrain::plan
