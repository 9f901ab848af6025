#include "cnntrain/parallel/run_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "cnntrain/base/checked.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"

namespace cnntrain::schedule {
namespace {

/// A number above the iterations of any run; the sum of two such numbers does not overflow.
constexpr std::int64_t kNever = std::int64_t{1} << 61;

void require(bool condition, const std::string& message) {
    if (!condition) throw Error(ErrorKind::usage, message);
}

/// Division rounded towards minus infinity; `b` > 0.
std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
    return a / b - (a % b < 0 ? 1 : 0);
}

double floor_divide(double a, double b) {
    return (a - std::fmod(a, b)) / b;
}

/// True if (begin, end] contains a multiple of `interval`.
bool crosses(std::int64_t begin, std::int64_t end, std::int64_t interval) {
    return floor_divide(begin, interval) < floor_divide(end, interval);
}

void check_batch(const ScheduleSettings& shape) {
    require(shape.micro_batch_size >= 1 && shape.gradient_accumulation_count >= 1 && shape.replicas >= 1 &&
                shape.processes >= 1,
            "micro-batch size, gradient accumulation count, replicas and processes must be at least 1");
}

void check(const RunShape& shape) {
    require(shape.images >= 1, "there are no training images");
    check_batch(shape);
    require(shape.norm_span >= 1 && norm_span_fits(shape.norm_span, shape.replicas, shape.processes),
            "--BN-span must divide the replicas of a process, or be those of a divisor of the processes");
    require(shape.device_iterations >= 1,
            "--device-iterations must be at least 1, not " + std::to_string(shape.device_iterations));
    require(shape.iterations.has_value() || shape.logs_per_epoch >= 1,
            "--logs-per-epoch must be at least 1, not " + std::to_string(shape.logs_per_epoch));
    require(shape.ckpts_per_epoch >= 0 && shape.epochs_per_ckpt >= 0 && shape.ckpt_epochs_offset >= 0,
            "--ckpts-per-epoch, --epochs-per-ckpt and --ckpt-epochs-offset must not be negative");
}

/// The option that makes a global batch large.
std::string_view largest_factor(const RunShape& shape) {
    const std::pair<std::int64_t, std::string_view> factors[] = {
        {shape.micro_batch_size, "--micro-batch-size"},
        {shape.gradient_accumulation_count, "--gradient-accumulation-count"},
        {shape.replicas, "--replicas"},
        {shape.processes, "number of processes"}};
    return std::ranges::max(factors, {}, &std::pair<std::int64_t, std::string_view>::first).second;
}

std::int64_t total_iterations(const RunShape& shape, std::int64_t global_batch) {
    if (shape.iterations) {
        require(*shape.iterations >= 1 && *shape.iterations < kNever, "--iterations must be from 1 to " +
                                                                          std::to_string(kNever - 1) + ", not " +
                                                                          std::to_string(*shape.iterations));
        return *shape.iterations;
    }
    require(shape.epochs > 0 && std::isfinite(shape.epochs),
            "--epochs must be more than 0, not " + formatted("%g", shape.epochs));
    const std::int64_t total = checked_whole(
        floor_divide(static_cast<double>(shape.images) * shape.epochs, static_cast<double>(global_batch)), "--epochs");
    require(total < kNever, "--epochs " + formatted("%g", shape.epochs) + " are more iterations than can be counted");
    require(total >= 1, "nothing to do: " + formatted("%g", shape.epochs) + " epochs of " +
                            std::to_string(shape.images) + " samples are less than one global batch of " +
                            std::to_string(global_batch) + "; use a smaller " + std::string(largest_factor(shape)) +
                            " or more --epochs");
    return total;
}

std::int64_t iterations_per_host_step(std::int64_t log_freq, std::int64_t device_iterations) {
    if (log_freq < device_iterations) return log_freq;
    // Rounds half to even, the default rounding mode.
    const double parts = std::nearbyint(static_cast<double>(log_freq) / static_cast<double>(device_iterations));
    return std::max<std::int64_t>(1, log_freq / static_cast<std::int64_t>(parts));
}

/// Number of integers from 1 to `last` that are a multiple of at least one of the periods.
std::int64_t multiples_within(std::int64_t last, const std::array<std::int64_t, 2>& periods) {
    const auto [a, b] = periods;
    const std::int64_t part = a / std::gcd(a, b);
    const std::int64_t of_both = part > last / b ? 0 : last / (part * b);
    return last / a + last / b - of_both;
}

}  // namespace

RunPlan make_run_plan(const RunShape& shape) {
    check(shape);
    RunPlan plan;
    plan.images = shape.images;
    plan.global_batch = batch_plan(shape).global_batch();
    plan.iterations_per_epoch = plan.images / plan.global_batch;
    plan.iterations = total_iterations(shape, plan.global_batch);
    checked_product(plan.iterations, plan.global_batch, "the number of samples of the run");
    plan.epochs = shape.iterations ? plan.epoch_at(plan.iterations) : shape.epochs;
    plan.log_freq =
        std::max<std::int64_t>(1, shape.iterations ? shape.log_freq : plan.iterations_per_epoch / shape.logs_per_epoch);
    plan.iterations_per_host_step = iterations_per_host_step(plan.log_freq, shape.device_iterations);
    if (shape.epochs_per_ckpt > 0) {
        plan.iterations_per_checkpoint = std::max<std::int64_t>(
            1, checked_product(plan.iterations_per_epoch, shape.epochs_per_ckpt, "--epochs-per-ckpt in iterations"));
    } else if (shape.ckpts_per_epoch > 0) {
        plan.iterations_per_checkpoint = std::max<std::int64_t>(1, plan.iterations_per_epoch / shape.ckpts_per_epoch);
    }
    if (plan.iterations_per_checkpoint)
        plan.iterations_per_checkpoint = std::min(*plan.iterations_per_checkpoint, kNever);
    plan.first_checkpoint_from = std::min(kNever, checked_product(shape.ckpt_epochs_offset, plan.iterations_per_epoch,
                                                                  "--ckpt-epochs-offset in iterations"));
    plan.avoid_early_checkpoint = shape.epochs_per_ckpt > 0 || shape.ckpts_per_epoch == 1;
    plan.validate = shape.validate;
    return plan;
}

RunPlan make_step_plan(const StepShape& shape) {
    require(shape.samples >= 1, "there are no training samples");
    check_batch(shape);
    require(shape.device_iterations >= 1, "--device-iterations must be at least 1");
    require(shape.iterations && *shape.iterations >= 0 && *shape.iterations < kNever,
            "the number of training steps must be given, at least 0");
    require(shape.steps_per_log >= 0 && shape.steps_per_checkpoint >= 0,
            "periods of log lines and checkpoints must not be negative");
    const std::int64_t at_once = shape.device_iterations;
    const auto whole_host_steps = [&](std::int64_t period) {
        return period == 0 ? kNever / at_once * at_once : (period + at_once - 1) / at_once * at_once;
    };
    RunPlan plan;
    plan.images = shape.samples;
    plan.global_batch = batch_plan(shape).global_batch();
    plan.iterations_per_epoch = plan.images / plan.global_batch;
    plan.iterations = *shape.iterations / at_once * at_once;
    checked_product(plan.iterations, plan.global_batch, "the number of samples of the run");
    plan.epochs = plan.epoch_at(plan.iterations);
    plan.log_freq = whole_host_steps(shape.steps_per_log);
    plan.iterations_per_host_step = at_once;
    plan.iterations_per_checkpoint = whole_host_steps(shape.steps_per_checkpoint);
    if (shape.steps_per_histogram > 0) plan.iterations_per_histogram = whole_host_steps(shape.steps_per_histogram);
    plan.follows_first_step = true;
    return plan;
}

std::int64_t RunPlan::averaging_window() const {
    return std::max<std::int64_t>(1, iterations_per_epoch / iterations_per_host_step);
}

double RunPlan::epoch_at(std::int64_t iteration) const {
    return static_cast<double>(global_batch) * static_cast<double>(iteration) / static_cast<double>(images);
}

HostStep RunPlan::host_step(std::int64_t start) const {
    CNNTRAIN_CHECK(start >= 0 && start < iterations, "host step outside the run: " + std::to_string(start));
    // All events are those of the whole step [begin, end).
    const std::int64_t begin = start - start % iterations_per_host_step;
    const std::int64_t end = begin + std::min(iterations_per_host_step, iterations - begin);
    const bool last = end == iterations;

    HostStep step;
    step.first_iteration = start;
    step.iterations = end - start;
    step.epoch_after = epoch_at(end);
    if (follows_first_step) {
        step.lr_iteration = begin;
        step.log = begin % log_freq == 0;
        step.histograms = iterations_per_histogram && begin % *iterations_per_histogram == 0;
        step.checkpoint = last || (begin > 0 && (begin % *iterations_per_checkpoint == 0 || step.histograms));
        return step;
    }
    step.lr_iteration = begin + (end - begin) / 2;
    const std::optional<std::int64_t> due = checkpoint_within(begin, end);
    if (due && start < *due && *due < end) {
        step.iterations = *due - start;
        step.epoch_after = epoch_at(*due);
        step.ends_host_step = false;
        step.checkpoint = true;
    } else {
        step.log = crosses(begin, end, log_freq) || begin == 0 || iterations - end <= iterations_per_host_step;
        step.checkpoint = due == end || (last && iterations_per_checkpoint &&
                                         begin >= first_checkpoint_from - iterations_per_host_step);
    }
    step.validate = validate && step.checkpoint;
    return step;
}

/// The last end of a checkpoint period within (begin, end], the range of a host step. Not for follows_first_step.
std::optional<std::int64_t> RunPlan::checkpoint_within(std::int64_t begin, std::int64_t end) const {
    if (!iterations_per_checkpoint) return std::nullopt;
    const std::int64_t periods = floor_divide(end - first_checkpoint_from, *iterations_per_checkpoint);
    const std::int64_t due = first_checkpoint_from + periods * *iterations_per_checkpoint;
    if (due <= begin || due < first_checkpoint_from) return std::nullopt;
    if (due < iterations && is_early(due)) return std::nullopt;
    return due;
}

/// True if the checkpoint at the near end of the run replaces the one at `iteration`.
bool RunPlan::is_early(std::int64_t iteration) const {
    if (avoid_early_checkpoint) return std::nearbyint(epoch_at(iteration)) == epochs;
    return iterations - iteration < *iterations_per_checkpoint / 2;
}

/// Number of the first host step that begins late enough for a checkpoint.
std::int64_t RunPlan::first_step_to_save() const {
    const std::int64_t earliest = std::max<std::int64_t>(0, first_checkpoint_from - iterations_per_host_step);
    return -floor_divide(-earliest, iterations_per_host_step);
}

/// Periods, in host steps, of checkpoints and of checkpoints due to histograms, for a run that follows_first_step.
std::array<std::int64_t, 2> RunPlan::saving_periods() const {
    const std::int64_t checkpoints = *iterations_per_checkpoint / iterations_per_host_step;
    return {checkpoints, iterations_per_histogram ? *iterations_per_histogram / iterations_per_host_step : checkpoints};
}

/// The first host step, from number `step` on, that contains a multiple of a checkpoint interval and is not the last
/// one.
std::optional<std::int64_t> RunPlan::next_crossing(std::int64_t step) const {
    if (follows_first_step) {
        const std::int64_t from = std::max<std::int64_t>(step, 1);
        std::int64_t found = last_step();
        for (const std::int64_t period : saving_periods())
            found = std::min(found, (from + period - 1) / period * period);
        if (found == last_step()) return std::nullopt;
        return found;
    }
    const std::int64_t begin = step * iterations_per_host_step - first_checkpoint_from;
    const std::int64_t multiple = (floor_divide(begin, *iterations_per_checkpoint) + 1) * *iterations_per_checkpoint;
    const std::int64_t holding = (first_checkpoint_from + multiple - 1) / iterations_per_host_step;
    if (holding >= last_step()) return std::nullopt;
    return holding;
}

std::optional<HostStep> RunPlan::next_checkpoint(std::int64_t start) const {
    if (!iterations_per_checkpoint || start >= iterations) return std::nullopt;
    std::int64_t step = std::max(start / iterations_per_host_step, first_step_to_save());
    if (step > last_step()) return std::nullopt;
    // The part of a host step that goes beyond `start`.
    const auto part_of = [&](std::int64_t number) {
        const HostStep part = host_step(number * iterations_per_host_step);
        return part.end() <= start ? host_step(part.end()) : part;
    };
    while (const auto crossing = next_crossing(step)) {
        const HostStep found = part_of(*crossing);
        if (found.checkpoint) return found;
        step = *crossing + 1;  // before `start`, or replaced by the last checkpoint; at most those of one epoch
    }
    return part_of(last_step());
}

std::int64_t RunPlan::checkpoint_count() const {
    const std::int64_t first = first_step_to_save();
    if (!iterations_per_checkpoint || first > last_step() || iterations == 0) return 0;
    if (follows_first_step) return multiples_within(std::max<std::int64_t>(0, last_step() - 1), saving_periods()) + 1;
    const auto intervals_before = [&](std::int64_t step) {
        return floor_divide(step * iterations_per_host_step - first_checkpoint_from, *iterations_per_checkpoint);
    };
    const bool every_step = *iterations_per_checkpoint <= iterations_per_host_step;
    std::int64_t count = every_step ? last_step() - first : intervals_before(last_step()) - intervals_before(first);
    const double last_epochs = (epochs - 1) * static_cast<double>(images) / static_cast<double>(global_batch);
    const std::int64_t early_from = avoid_early_checkpoint
                                        ? static_cast<std::int64_t>(std::max(0.0, last_epochs))
                                        : std::max<std::int64_t>(0, iterations - *iterations_per_checkpoint);
    const std::int64_t begin = early_from / iterations_per_host_step;
    for (auto step = next_crossing(std::max(begin, first)); step; step = next_crossing(*step + 1)) {
        if (!host_step(*step * iterations_per_host_step).checkpoint) --count;
    }
    const auto in_last = checkpoint_within(last_step() * iterations_per_host_step, iterations);
    if (in_last && *in_last < iterations) ++count;
    return count + 1;  // the end of the run
}

std::vector<HostStep> RunPlan::checkpoint_steps() const {
    std::vector<HostStep> steps;
    for (auto step = next_checkpoint(0); step; step = next_checkpoint(step->end()))
        steps.push_back(*step);
    return steps;
}

ValidationPlan make_validation_plan(std::int64_t images, std::int64_t batch) {
    require(images >= 1, "there are no validation images");
    require(batch >= 1, "the validation batch must hold at least one image");
    return {images, batch, (images + batch - 1) / batch};
}

namespace {

double period_of(const ValidationTimes& times, const RunPlan& plan) {
    CNNTRAIN_CHECK(times.any(), "a run without validations has no times of them");
    const double period = times.updates_per_validation > 0
                              ? static_cast<double>(times.updates_per_validation)
                              : times.epochs_per_validation * static_cast<double>(plan.iterations_per_epoch);
    return std::max(1.0, std::min(period, static_cast<double>(plan.iterations)));
}

}  // namespace

PlannedValidations::PlannedValidations(const ValidationTimes& times, const RunPlan& plan)
    : period_(period_of(times, plan)), end_(plan.iterations) {}

std::int64_t PlannedValidations::multiple(std::int64_t k) const {
    const double exact = static_cast<double>(k) * period_;
    const double end = static_cast<double>(end_);
    return end - exact < period_ / 2 ? end_ : static_cast<std::int64_t>(std::round(exact));
}

std::int64_t PlannedValidations::next(std::int64_t iteration) const {
    auto k = std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(iteration) / period_));
    while (multiple(k) <= iteration)
        ++k;
    return multiple(k);
}

std::int64_t PlannedValidations::count() const {
    if (end_ == 0) return 0;
    auto k = std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(end_) / period_) - 1);
    while (multiple(k) < end_)
        ++k;
    return k;
}

}  // namespace cnntrain::schedule
