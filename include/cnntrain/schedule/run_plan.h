// Batch arithmetic of one training run: pure numbers, no files, no clocks.
//
// N training images, B global batch (samples per weight update of all processes), T iterations of the run.
// An iteration is one weight update; a host step is a group of iterations with one learning rate, after
// which a log line, a checkpoint or the end may stand.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "cnntrain/schedule/settings.h"

namespace cnntrain::schedule {

/// Input of a run's plan: the user's settings and the data.
/// T is `iterations` when given, else floor(N * epochs / B).
struct RunShape : ScheduleSettings, CheckpointTimes {
    std::int64_t images = 0;  // N, of all processes together
    bool validate = true;
};

/// The same for a run whose length, log lines and checkpoints are all given in weight updates ("steps"), numbered from
/// 0. Each host step is `device_iterations` steps; periods are rounded up to whole host steps.
struct StepShape : ScheduleSettings {
    std::int64_t samples = 0;               // of an epoch, of all processes together
    std::int64_t steps_per_log = 1;         // 0: the first step's line only
    std::int64_t steps_per_checkpoint = 0;  // 0: the last step's only
    std::int64_t steps_per_histogram = 0;   // 0 or less: none
};

struct HostStep {
    std::int64_t first_iteration = 0;
    std::int64_t iterations = 0;
    bool log = false;
    bool checkpoint = false;
    bool histograms = false;  // of all variables
    bool validate = false;
    double epoch_after = 0;         // B * (first_iteration + iterations) / N
    std::int64_t lr_iteration = 0;  // argument of the learning-rate schedule

    std::int64_t end() const { return first_iteration + iterations; }
    bool operator==(const HostStep&) const = default;
};

/// The formulas are those of the original programs, with the run ending at exactly T.
struct RunPlan {
    std::int64_t images = 0;
    std::int64_t global_batch = 0;
    std::int64_t iterations_per_epoch = 0;  // floor(N / B); 0 when one batch is more than the data
    std::int64_t iterations = 0;            // T
    double epochs = 0;                      // as asked for, or T * B / N
    std::int64_t log_freq = 0;              // iterations, at least 1
    std::int64_t iterations_per_host_step = 0;
    std::optional<std::int64_t> iterations_per_checkpoint;
    std::optional<std::int64_t> iterations_per_histogram;  // with follows_first_step only
    std::int64_t first_checkpoint_from = 0;                // iterations
    bool avoid_early_checkpoint = false;                   // see host_step()
    bool validate = false;
    /// The number of a host step's first step decides about its events, instead of the number of its end: a multiple of
    /// log_freq is logged, a positive multiple of iterations_per_checkpoint is saved, a multiple of
    /// iterations_per_histogram has histograms and, if positive, is saved, too.
    bool follows_first_step = false;

    std::int64_t host_steps() const;
    /// Host steps over which loss_avg and train_acc_avg are averaged: those of one epoch, at least 1.
    std::int64_t averaging_window() const;
    double epoch_at(std::int64_t iteration) const;

    /// The host step that begins at `start` (0 <= start < T). Every host step begins at a multiple of
    /// iterations_per_host_step; a `start` between two of them (a run stopped in mid-step) gives the rest of that step,
    /// with the learning rate and the decisions of the whole one. Iterate with `start = step.end()`.
    ///
    /// A checkpoint that falls, rounded, on the last epoch is left to the end of the run when there is one checkpoint
    /// per epoch or fewer.
    HostStep host_step(std::int64_t start) const;
    /// The first host step that ends with a checkpoint, from the one that holds iteration `start` (0 <= start <= T) on;
    /// found without visiting those between. Empty when there is none.
    std::optional<HostStep> next_checkpoint(std::int64_t start) const;
    /// How many host steps of the run end with a checkpoint, without visiting them.
    std::int64_t checkpoint_count() const;
    /// All of them, in order: for a run that has made them.
    std::vector<HostStep> checkpoint_steps() const;

private:
    std::int64_t last_step() const { return (iterations - 1) / iterations_per_host_step; }
    std::int64_t first_step_to_save() const;
    std::array<std::int64_t, 2> saving_periods() const;
    std::optional<std::int64_t> next_crossing(std::int64_t step) const;
};

/// Error(usage) when a number is out of range, the run would have no iteration or more samples than can be counted.
RunPlan make_run_plan(const RunShape& shape);
/// Likewise, but a run of 0 steps is legal.
RunPlan make_step_plan(const StepShape& shape);

/// Forward passes of a validation: every image is counted once, the last batch may be short.
struct ValidationPlan {
    std::int64_t images = 0;   // also the reported val_size
    std::int64_t batch = 0;    // samples of one forward pass
    std::int64_t batches = 0;  // the last one may hold fewer samples
};

ValidationPlan make_validation_plan(std::int64_t images, std::int64_t batch);

}  // namespace cnntrain::schedule
