#include "cnntrain/schedule/run_plan.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "cnntrain/base/error.h"

namespace cnntrain::schedule {
namespace {

void require(bool condition, const std::string& message) {
    if (!condition) throw Error(ErrorKind::usage, message);
}

/// Division towards minus infinity; `b` > 0.
std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
    return a / b - (a % b < 0 ? 1 : 0);
}

double floor_divide(double a, double b) {
    return (a - std::fmod(a, b)) / b;
}

/// Does a multiple of `interval` lie in (begin, end]?
bool crosses(std::int64_t begin, std::int64_t end, std::int64_t interval) {
    return floor_divide(begin, interval) < floor_divide(end, interval);
}

void check(const RunShape& shape) {
    require(shape.images >= 1, "there are no training images");
    require(shape.micro_batch_size >= 1 && shape.gradient_accumulation_count >= 1 && shape.replicas >= 1 &&
                shape.processes >= 1,
            "micro-batch size, gradient accumulation count, replicas and processes must be at least 1");
    require(shape.device_iterations >= 1,
            "--device-iterations must be at least 1, not " + std::to_string(shape.device_iterations));
    require(shape.iterations.has_value() || shape.logs_per_epoch >= 1,
            "--logs-per-epoch must be at least 1, not " + std::to_string(shape.logs_per_epoch));
    require(shape.ckpts_per_epoch >= 0 && shape.epochs_per_ckpt >= 0 && shape.ckpt_epochs_offset >= 0,
            "--ckpts-per-epoch, --epochs-per-ckpt and --ckpt-epochs-offset must not be negative");
}

std::int64_t total_iterations(const RunShape& shape, std::int64_t global_batch) {
    if (shape.iterations) {
        require(*shape.iterations >= 1, "--iterations must be at least 1, not " + std::to_string(*shape.iterations));
        return *shape.iterations;
    }
    require(shape.epochs > 0 && std::isfinite(shape.epochs),
            "--epochs must be more than 0, not " + std::to_string(shape.epochs));
    const auto total = static_cast<std::int64_t>(
        floor_divide(static_cast<double>(shape.images) * shape.epochs, static_cast<double>(global_batch)));
    require(total >= 1, "nothing to do: " + std::to_string(shape.epochs) + " epochs of " +
                            std::to_string(shape.images) + " images are less than one global batch of " +
                            std::to_string(global_batch) + "; use a smaller --micro-batch-size or more --epochs");
    return total;
}

std::int64_t iterations_per_host_step(std::int64_t log_freq, std::int64_t device_iterations) {
    if (log_freq < device_iterations) return log_freq;
    // Half to even, as the default rounding mode does.
    const double parts = std::nearbyint(static_cast<double>(log_freq) / static_cast<double>(device_iterations));
    return std::max<std::int64_t>(1, log_freq / static_cast<std::int64_t>(parts));
}

}  // namespace

RunPlan make_run_plan(const RunShape& shape) {
    check(shape);
    RunPlan plan;
    plan.images = shape.images;
    plan.global_batch = batch_plan(shape, shape.processes).global_batch();
    plan.iterations_per_epoch = plan.images / plan.global_batch;
    plan.iterations = total_iterations(shape, plan.global_batch);
    plan.epochs = shape.iterations ? plan.epoch_at(plan.iterations) : shape.epochs;
    plan.log_freq =
        std::max<std::int64_t>(1, shape.iterations ? shape.log_freq : plan.iterations_per_epoch / shape.logs_per_epoch);
    plan.iterations_per_host_step = iterations_per_host_step(plan.log_freq, shape.device_iterations);
    if (shape.epochs_per_ckpt > 0) {
        plan.iterations_per_checkpoint = std::max<std::int64_t>(1, plan.iterations_per_epoch * shape.epochs_per_ckpt);
    } else if (shape.ckpts_per_epoch > 0) {
        plan.iterations_per_checkpoint = std::max<std::int64_t>(1, plan.iterations_per_epoch / shape.ckpts_per_epoch);
    }
    plan.first_checkpoint_from = shape.ckpt_epochs_offset * plan.iterations_per_epoch;
    plan.avoid_early_checkpoint = shape.epochs_per_ckpt > 0 || shape.ckpts_per_epoch == 1;
    plan.validate = shape.validate;
    return plan;
}

std::int64_t RunPlan::host_steps() const {
    return (iterations + iterations_per_host_step - 1) / iterations_per_host_step;
}

std::int64_t RunPlan::averaging_window() const {
    return std::max<std::int64_t>(1, iterations_per_epoch / iterations_per_host_step);
}

double RunPlan::epoch_at(std::int64_t iteration) const {
    return static_cast<double>(global_batch * iteration) / static_cast<double>(images);
}

HostStep RunPlan::host_step(std::int64_t start) const {
    CNNTRAIN_CHECK(start >= 0 && start < iterations, "host step outside the run: " + std::to_string(start));
    // All decisions are those of the whole step [begin, end).
    const std::int64_t begin = start - start % iterations_per_host_step;
    const std::int64_t end = std::min(begin + iterations_per_host_step, iterations);
    const bool last = end == iterations;

    HostStep step;
    step.first_iteration = start;
    step.iterations = end - start;
    step.epoch_after = epoch_at(end);
    step.lr_iteration = begin + (end - begin) / 2;
    step.log = crosses(begin, end, log_freq) || begin == 0 || begin + 2 * iterations_per_host_step >= iterations;
    if (iterations_per_checkpoint && begin >= first_checkpoint_from - iterations_per_host_step) {
        step.checkpoint =
            last || crosses(begin - first_checkpoint_from, end - first_checkpoint_from, *iterations_per_checkpoint);
        const bool early = avoid_early_checkpoint && std::nearbyint(step.epoch_after) == epochs && !last;
        step.checkpoint = step.checkpoint && !early;
    }
    step.validate = validate && step.checkpoint;
    return step;
}

std::vector<HostStep> RunPlan::checkpoint_steps() const {
    std::vector<HostStep> steps;
    for (std::int64_t start = 0; start < iterations;) {
        const HostStep step = host_step(start);
        start = step.end();
        if (step.checkpoint) steps.push_back(step);
    }
    return steps;
}

ValidationPlan make_validation_plan(std::int64_t images, std::int64_t batch) {
    require(images >= 1, "there are no validation images");
    require(batch >= 1, "the validation batch must hold at least one image");
    return {images, batch, (images + batch - 1) / batch};
}

}  // namespace cnntrain::schedule
