// Batches and length of a training run: pure numbers, no files, no clocks.
//
// N training images, B global batch (samples per weight update of all processes), T iterations of the run. An iteration
// is one weight update. A host step is a group of iterations with the same learning rate; log lines and the end of the
// run occur only between host steps. The checkpoint of an epoch may cut a host step.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "cnntrain/parallel/settings.h"

namespace cnntrain::schedule {

/// Input of a run's plan: the user's settings and the size of the data. T is `iterations` if given, otherwise floor(N *
/// epochs / B).
struct RunShape : ScheduleSettings, CheckpointTimes {
    std::int64_t images = 0;  // N, over all processes
    bool validate = true;
};

/// Input of the plan of a run whose length, log lines and checkpoints are given in weight updates ("steps"), numbered
/// from 0. Each host step has `device_iterations` steps; periods are rounded up to whole host steps.
struct StepShape : ScheduleSettings {
    std::int64_t samples = 0;               // per epoch, over all processes
    std::int64_t steps_per_log = 1;         // 0: only a line for the first step
    std::int64_t steps_per_checkpoint = 0;  // 0: only after the last step
    std::int64_t steps_per_histogram = 0;   // <= 0: no histograms
};

/// A host step, or the part of one up to a checkpoint, or the part after that.
struct HostStep {
    std::int64_t first_iteration = 0;
    std::int64_t iterations = 0;
    bool log = false;
    bool checkpoint = false;
    bool histograms = false;  // log histograms of all variables
    bool validate = false;
    double epoch_after = 0;         // B * (first_iteration + iterations) / N
    std::int64_t lr_iteration = 0;  // argument of the learning rate schedule
    bool ends_host_step = true;     // false: a checkpoint cuts the host step here

    std::int64_t end() const { return first_iteration + iterations; }
    bool operator==(const HostStep&) const = default;
};

/// The formulas are those of the original programs, with two differences: the run ends exactly at T, and a checkpoint
/// is saved exactly where its period ends. The original programs save at the end of that host step, which may be a good
/// part of an epoch later.
struct RunPlan {
    std::int64_t images = 0;
    std::int64_t global_batch = 0;
    std::int64_t iterations_per_epoch = 0;  // floor(N / B); 0 if one batch exceeds the data
    std::int64_t iterations = 0;            // T
    double epochs = 0;                      // as requested, or T * B / N
    std::int64_t log_freq = 0;              // in iterations, at least 1
    std::int64_t iterations_per_host_step = 0;
    std::optional<std::int64_t> iterations_per_checkpoint;
    std::optional<std::int64_t> iterations_per_histogram;  // only with follows_first_step
    std::int64_t first_checkpoint_from = 0;                // in iterations
    bool avoid_early_checkpoint = false;                   // see host_step()
    bool validate = false;
    /// If set, the number of a host step's first iteration decides about its events, instead of the number of its last:
    /// a multiple of log_freq is logged, a positive multiple of iterations_per_checkpoint is saved, a multiple of
    /// iterations_per_histogram has histograms and, if positive, is saved too.
    bool follows_first_step = false;

    /// Number of host steps over which loss_avg and train_acc_avg are averaged: those of one epoch, at least 1.
    std::int64_t averaging_window() const;
    double epoch_at(std::int64_t iteration) const;

    /// The host step that begins at `start` (0 <= start < T). Every host step begins at a multiple of
    /// iterations_per_host_step. A `start` in between (a run stopped within a step) gives the rest of that step, with
    /// the learning rate and events of the whole step. A host step in which checkpoints are due is cut at the last of
    /// them. Iterate with `start = step.end()`.
    ///
    /// With one checkpoint per epoch or fewer, a checkpoint that falls, rounded, on the last epoch is replaced by the
    /// one at the end of the run; with more, a checkpoint that is nearer to the end than half a period.
    HostStep host_step(std::int64_t start) const;
    /// The first host step, or part of one, that ends with a checkpoint after iteration `start` (0 <= start <= T);
    /// empty if there is none. Does not visit the steps in between.
    std::optional<HostStep> next_checkpoint(std::int64_t start) const;
    /// Number of checkpoints of the run. Does not visit all steps.
    std::int64_t checkpoint_count() const;
    /// All host steps that end with a checkpoint, in order.
    std::vector<HostStep> checkpoint_steps() const;

private:
    std::int64_t last_step() const { return (iterations - 1) / iterations_per_host_step; }
    std::int64_t first_step_to_save() const;
    bool is_early(std::int64_t iteration) const;
    std::optional<std::int64_t> checkpoint_within(std::int64_t begin, std::int64_t end) const;
    std::array<std::int64_t, 2> saving_periods() const;
    std::optional<std::int64_t> next_crossing(std::int64_t step) const;
};

/// Throws Error(usage) if a number is out of range, or if the run would have no iteration or more samples than can be
/// counted.
RunPlan make_run_plan(const RunShape& shape);
/// Throws like make_run_plan(), but a run of 0 steps is valid.
RunPlan make_step_plan(const StepShape& shape);

/// Forward passes of a validation. Every image is counted once; the last batch may be smaller.
struct ValidationPlan {
    std::int64_t images = 0;   // also reported as val_size
    std::int64_t batch = 0;    // samples per forward pass
    std::int64_t batches = 0;  // the last one may hold fewer samples
};

ValidationPlan make_validation_plan(std::int64_t images, std::int64_t batch);

// Validations of a training run.

/// Validations during a run of T iterations: at multiples of a period, rounded to whole iterations, and at T. Where one
/// is nearer to T than half a period, it is left out: the validation at T replaces it, as the last checkpoint replaces
/// one of the last epoch.
class PlannedValidations {
public:
    /// `times.any()` must hold. The period is `updates_per_validation`, or `epochs_per_validation` times the updates of
    /// an epoch; at least 1.
    PlannedValidations(const ValidationTimes& times, const RunPlan& plan);

    double period() const { return period_; }
    /// The first validation after `iteration` (0 <= iteration < T).
    std::int64_t next(std::int64_t iteration) const;
    /// True for 1 <= iteration <= T with a validation.
    bool is_at(std::int64_t iteration) const { return iteration > 0 && next(iteration - 1) == iteration; }
    /// Number of validations of the whole run.
    std::int64_t count() const;

private:
    /// The k-th multiple, k >= 1; T if T replaces it.
    std::int64_t multiple(std::int64_t k) const;

    double period_;
    std::int64_t end_;
};

}  // namespace cnntrain::schedule
