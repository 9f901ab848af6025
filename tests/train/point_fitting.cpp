#include "train/point_fitting.h"

#include <array>
#include <cstddef>
#include <span>

#include "cnntrain/base/text.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/graph/optimiser.h"
#include "cnntrain/graph/passes.h"
#include "cnntrain/run/compile_request.h"
#include "tasks/image_classification/task.h"

namespace cnntrain::run::testing {
namespace {

using graph::OpKind;

constexpr std::int64_t kAxes = 3;
constexpr const char* kPoints = "points";
constexpr const char* kTargets = "targets";
constexpr std::int32_t kPadding = -1;  // target of a sample that counts for nothing

std::vector<data::Field> point_fields(std::int64_t micro_batch) {
    return {{kPoints, {DType::f32, {micro_batch, kAxes}}}, {kTargets, {DType::i32, {micro_batch}}}};
}

// The task's own operation. Kinds of operations are a closed list, so the test borrows two that it does not need; only
// the ref backend asks the table what an operation does.
constexpr OpKind kSquaredError =
    OpKind::softmax_cross_entropy;  // y f32[N,1], targets i32[N] -> error, size: both f32[]
constexpr OpKind kSquaredErrorGrad = OpKind::softmax_cross_entropy_grad;  // y, targets, d error -> dy

/// Calls use(n, y - target, target) for every sample that is no padding.
template <typename Use> void for_each_sample(std::span<const graph::RefTensor* const> inputs, Use use) {
    for (std::size_t n = 0; n < inputs[1]->values.size(); ++n) {
        const double target = inputs[1]->values[n];
        if (target != kPadding) use(n, inputs[0]->values[n] - target, target);
    }
}

graph::OpTable ops_with_squared_error() {
    graph::OpTable table = ops::op_table();
    table[static_cast<std::size_t>(kSquaredError)] = {
        .kind = kSquaredError,
        .name = "squared_error",
        .infer = [](const graph::Attrs&, std::span<const TensorDesc>) -> std::vector<TensorDesc> {
            return {{DType::f32, {}}, {DType::f32, {}}};
        },
        .gradient =
            [](graph::GradContext& context) {
                context.set_grad(0,
                                 context.add_one(kSquaredErrorGrad, graph::NoAttrs{},
                                                 {context.input(0), context.input(1), context.grad_output(0)}, "grad"));
            },
        .flops = [](const graph::Attrs&, std::span<const TensorDesc>, std::span<const TensorDesc>) { return 0.0; },
        .evaluate =
            [](const graph::Attrs&, std::span<const graph::RefTensor* const> inputs,
               std::span<graph::RefTensor> outputs) {
                for_each_sample(inputs, [&](std::size_t, double error, double target) {
                    outputs[0].values[0] += error * error;
                    outputs[1].values[0] += target;
                });
            },
    };
    table[static_cast<std::size_t>(kSquaredErrorGrad)] = {
        .kind = kSquaredErrorGrad,
        .name = "squared_error_grad",
        .infer = [](const graph::Attrs&, std::span<const TensorDesc> inputs) -> std::vector<TensorDesc> {
            return {inputs[0]};
        },
        .flops = [](const graph::Attrs&, std::span<const TensorDesc>, std::span<const TensorDesc>) { return 0.0; },
        .evaluate =
            [](const graph::Attrs&, std::span<const graph::RefTensor* const> inputs,
               std::span<graph::RefTensor> outputs) {
                for_each_sample(inputs, [&](std::size_t n, double error, double) {
                    outputs[0].values[n] = 2 * error * inputs[2]->values[0];
                });
            },
    };
    return table;
}

graph::Graph forward(const std::vector<data::Field>& fields) {
    static const graph::OpTable table = ops_with_squared_error();
    graph::Graph graph(table);
    const auto x = graph.add_input(kPoints, data::field_desc(fields, kPoints));
    const auto targets = graph.add_input(kTargets, data::field_desc(fields, kTargets));
    const auto weight = graph.add_parameter("plane/weight", {DType::f32, {kAxes, 1}}, {});
    const auto bias = graph.add_parameter("plane/bias", {DType::f32, {1}}, {});
    const auto y = graph.add_one(OpKind::dense, graph::DenseAttrs{}, {x, weight, bias}, "plane");
    const auto sums = graph.add(kSquaredError, graph::NoAttrs{}, {y, targets}, "error");
    graph.mark_output("error", sums.at(0));
    graph.mark_output("size", sums.at(1));
    return graph;
}

/// A stream of points: endless for training; for validation, sweeps with the last batch padded.
class PointStream final : public data::Stream {
public:
    PointStream(std::int64_t count, bool sweeps, const data::LoaderSettings& settings)
        : count_(count), sweeps_(sweeps), batch_(settings.micro_batch), position_(settings.first_sample) {}

    std::vector<data::Field> fields() const override { return point_fields(batch_); }
    std::int64_t micro_batch() const override { return batch_; }
    std::int64_t samples() const override { return count_; }
    std::int64_t batches_per_sweep() const override { return (count_ + batch_ - 1) / batch_; }
    std::int64_t position() const override { return position_; }
    data::StreamStats stats() const override { return {}; }

    data::Batch next() override {
        points_.assign(static_cast<std::size_t>(batch_ * kAxes), 0);
        targets_.assign(static_cast<std::size_t>(batch_), kPadding);
        std::int64_t valid = 0;
        for (; valid < batch_; ++valid) {
            if (sweeps_ && position_ == count_) break;
            write(position_ % count_, static_cast<std::size_t>(valid));
            ++position_;
        }
        if (sweeps_ && position_ == count_) position_ = 0;
        data::Batch batch;
        fields_ = {std::as_bytes(std::span(points_)), std::as_bytes(std::span(targets_))};
        batch.fields = fields_;
        batch.valid_count = valid;
        return batch;
    }

private:
    void write(std::int64_t sample, std::size_t slot) {
        constexpr std::int64_t kStrides[] = {1, 7, 17};
        float* point = &points_[slot * kAxes];
        for (std::size_t axis = 0; axis < kAxes; ++axis)
            point[axis] = static_cast<float>(sample * kStrides[axis] / 3 % 5 - 2);
        targets_[slot] = static_cast<std::int32_t>(3 * point[0] - 2 * point[1] + point[2] + 20);
    }

    std::int64_t count_;
    bool sweeps_;
    std::int64_t batch_;
    std::int64_t position_;
    std::vector<float> points_;
    std::vector<std::int32_t> targets_;
    std::array<std::span<const std::byte>, 2> fields_;
};

class Points final : public Samples {
public:
    Points(std::int64_t count, bool sweeps) : count_(count), sweeps_(sweeps) {}

    std::int64_t count() const override { return count_; }
    data::Origin origin() const override { return {.samples = count_, .recipe = "points"}; }
    std::vector<data::Field> fields(std::int64_t micro_batch) const override { return point_fields(micro_batch); }
    std::unique_ptr<data::Stream> stream(const data::LoaderSettings& settings) const override {
        return std::make_unique<PointStream>(count_, sweeps_, settings);
    }

private:
    std::int64_t count_;
    bool sweeps_;
};

}  // namespace

const metrics::Columns& PointFitting::columns() const {
    static const metrics::Columns columns = {
        .unit = {"point", "points", "pt"},
        .training = {{.name = "squared_error", .output = "error"},
                     {.name = "relative", .output = "error", .divisor = "size", .scale = 100}},
        .validation = {{.name = "squared_error", .output = "error"}},
        .inference = {},
    };
    return columns;
}

std::string PointFitting::printed(const PrintedRow& row) const {
    if (const auto* const training = std::get_if<const metrics::TrainingRow*>(&row)) {
        return formatted("fitted %lld times, squared error %.3f", static_cast<long long>((*training)->iteration),
                         (*training)->results.at(0).average);
    }
    if (const auto* const evaluated = std::get_if<const metrics::ValidationRow*>(&row))
        return formatted("%s misses by %.3f", (*evaluated)->name.c_str(), (*evaluated)->results.at(0));
    return formatted("%s answers", std::get<const metrics::InferenceRow*>(row)->name.c_str());
}

TaskDescription PointFitting::description() const {
    return {.model = "plane",
            .run_name = "plane",
            .title = "plane",
            .details = "",
            .identity = {{"model", "plane"}},
            .summary_head = "A plane through points\n",
            .summary_training = tasks::summary_training(settings_),
            .summary_tail = "",
            .arithmetic = {DType::f32, "points are f32"},
            .arguments = {{"axes", kAxes}},
            .mlperf = {}};
}

std::unique_ptr<Samples> PointFitting::open(data::Split split) const {
    return std::make_unique<Points>(samples(split, Counted::used), split == data::Split::validation);
}

std::int64_t PointFitting::samples(data::Split split, Counted /*how*/) const {
    return split == data::Split::train ? kTraining : kValidation;
}

schedule::RunPlan PointFitting::plan(std::int64_t samples) const {
    return run_plan(settings_, samples);
}

Rate PointFitting::rate(const schedule::RunPlan& plan) const {
    const double base = optim::base_learning_rate(tasks::image_settings(settings_).learning_rate, plan.global_batch);
    const optim::LearningRate rate(tasks::image_settings(settings_).learning_rate, base, plan.iterations, plan.epochs);
    return {[rate](std::int64_t iteration) { return rate.at(iteration); }, {}};
}

graph::Graph PointFitting::graph(GraphUse use, const std::vector<data::Field>& fields) const {
    return use == GraphUse::training ? with_update(forward(fields), traits_.loss, settings_, backend_)
                                     : forward(fields);
}

}  // namespace cnntrain::run::testing
