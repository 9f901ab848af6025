#include "train/staged_net.h"

#include <numeric>

#include "cnntrain/data/image_fields.h"
#include "cnntrain/graph/autodiff.h"
#include "cnntrain/graph/passes.h"
#include "cnntrain/nn/model.h"
#include "cnntrain/ops/op_table.h"
#include "cnntrain/optim/optimiser.h"
#include "cnntrain/train/assemble.h"
#include "train/fixtures.h"
#include "train/runs/weights.h"

namespace cnntrain::train::testing {
namespace {

constexpr std::int64_t kSamples = 4;

schedule::UpdatePlan plan_of(const Shape& shape) {
    schedule::UpdatePlan plan = shape.plan;
    plan.stages = static_cast<std::int32_t>(shape.splits.size()) + 1;
    return plan;
}

config::Settings settings_of(const Shape& shape) {
    return parse("--dataset cifar-10 --model-size 8 --micro-batch-size 4 --input-threads 1 --threads " +
                 std::to_string(shape.plan.lanes) + " --precision 32.32 --optimiser momentum --synthetic-data " +
                 shape.options)
        .settings;
}

Training training_of(const config::Settings& settings, const backend::Backend& backend, const Shape& shape,
                     const TensorDesc& images) {
    nn::BuildRequest request = build_request(settings, backend, images);
    request.splits = shape.splits;
    graph::Graph graph = nn::build_training(request, ops::op_table()).graph;
    if (shape.passes) graph = graph::run_passes(std::move(graph), backend.passes().training);
    const nn::ModelValues values = nn::model_values(graph);
    graph::Objective objective;
    objective.loss = values.loss;
    objective.targets = graph.values_with_role(graph::Role::parameter);
    if (shape.recompute) objective.recompute_points = {values.logits};
    const graph::Gradients gradients = graph::build_backward(graph, objective);
    optim::UpdateSettings update = update_settings(settings);
    update.micro_batches = shape.plan.micro_batches;
    optim::append_update(graph, gradients, update);
    if (shape.passes) graph = graph::run_passes(std::move(graph), backend.passes().backward);
    graph.verify();
    return {std::move(graph), gradients.stashed};
}

backend::CompileRequest request_of(const graph::Graph& graph, const config::Settings& settings, const Shape& shape,
                                   std::vector<data::Field> fields) {
    return compile_request(graph, settings, std::move(fields), plan_of(shape), 1);
}

data::LoaderSettings loader_of(const config::Settings& settings, const Shape& shape) {
    data::LoaderSettings loader = loader_settings(settings, 0);
    loader.batches_ahead += schedule::batches_in_flight(plan_of(shape));
    return loader;
}

}  // namespace

std::uint64_t Training::stashed_elements() const {
    return std::accumulate(stashed.begin(), stashed.end(), std::uint64_t{0}, [&](std::uint64_t sum, auto value) {
        return sum + static_cast<std::uint64_t>(graph.desc(value).elements());
    });
}

Net::Net(const Shape& shape)
    : settings_(settings_of(shape)),
      backend_(make_backend(settings_.run.backend)),
      data_(data_settings(settings_, *backend_, 1), data::Split::train),
      training_(training_of(settings_, *backend_, shape, data::field_desc(data_.fields(kSamples), data::kImages))),
      executable_(backend_->compile(request_of(training_.graph, settings_, shape, data_.fields(kSamples)))),
      stream_(data_.stream(loader_of(settings_, shape))) {
    initialise(*executable_, training_.graph, 1);
}

std::vector<backend::ProfileRow> Net::profile_of_training() {
    executable_->inspection().set_profiling(true);
    train();
    return executable_->inspection().profile();
}

std::vector<backend::ProfileRow> Net::profile_of_evaluation(std::int64_t batches) {
    executable_->inspection().set_profiling(true);
    evaluate(batches);
    return executable_->inspection().profile();
}

}  // namespace cnntrain::train::testing
