// From settings to what each module wants to know, and from there to compiled graphs. No files, no clocks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/cores.h"
#include "cnntrain/config/settings.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/nn/model.h"
#include "cnntrain/optim/optimiser.h"
#include "cnntrain/schedule/run_plan.h"
#include "cnntrain/schedule/update_plan.h"

namespace cnntrain::train {

/// Error(unsupported) for one that this version does not have.
std::unique_ptr<backend::Backend> make_backend(backend::BackendKind kind);

/// --threads and --input-threads on this machine.
CoreBudget core_budget(const RunSettings& settings);

/// Of one process.
schedule::BatchPlan batch_plan(const config::Settings& settings);
/// `images`: of the training data. Error(usage) as schedule::make_run_plan().
schedule::RunPlan run_plan(const config::Settings& settings, std::int64_t images);

/// What activations are computed in, and why.
backend::Arithmetic arithmetic(const nn::PrecisionSettings& settings, const backend::Backend& backend);
nn::NumericsSettings numerics(const nn::PrecisionSettings& settings, const backend::Backend& backend);
/// Real data: looks for the folder that holds the files.
data::InputSettings data_settings(const config::Settings& settings, const backend::Backend& backend,
                                  std::uint64_t seed);
/// The same without looking for it.
data::InputSettings data_settings_without_folder(const config::Settings& settings, const backend::Backend& backend,
                                                 std::uint64_t seed);
/// For passes over samples one micro-batch at a time.
data::LoaderSettings loader_settings(const config::Settings& settings, std::int64_t first_sample);
/// For a training, which may keep several batches at the same time. `fields`: of a batch.
data::LoaderSettings training_loader_settings(const config::Settings& settings, const schedule::Placement& placement,
                                              const std::vector<data::Field>& fields, std::int64_t first_sample);
/// With --latency, a queue of batches that wait would be all that is measured: it is as short as it can be unless its
/// length is given.
data::LoaderSettings validation_loader_settings(const config::Settings& settings);
/// For threads that send requests, each of which keeps a batch. `fields`: of a batch.
data::LoaderSettings request_loader_settings(const config::Settings& settings, const std::vector<data::Field>& fields);
/// How many threads compute on this machine.
int compute_threads(const RunSettings& settings);
nn::NetworkSettings network_settings(const config::Settings& settings);
/// Error(usage): a size or a split that the network does not have, not as many splits as --shards asks for, micro-batches
/// that the pipeline's schedule cannot take, or what the backend's placement() refuses.
void check_network(const config::Settings& settings);
/// The same for BERT's pretraining, whose splits the options have settled; an evaluation has no stages.
void check_stages_of_text(const config::Settings& settings);
/// Of a network in one stage.
nn::BuildRequest build_request(const config::Settings& settings, const backend::Backend& backend,
                               const TensorDesc& images);
optim::UpdateSettings update_settings(const config::Settings& settings, const backend::Backend& backend);
/// An output that is a part of the loss: what is minimised is the sum of all, each divided so.
struct LossTerm {
    std::string_view output;
    double divisor = 1;
};

/// The whole weight update of a forward graph, as the settings ask: loss scaling, recomputation, gradients, optimiser, moving
/// averages; with the passes that the backend wants. The loss scaling is a scalar of the graph.
graph::Graph with_update(graph::Graph forward, const std::vector<LossTerm>& loss, const config::Settings& settings,
                         const backend::Backend& backend);
/// `loss`: name of the output that is summed over a micro-batch's samples.
graph::Graph with_update(graph::Graph forward, std::string_view loss, const config::Settings& settings,
                         const backend::Backend& backend);

/// One whole weight update: forward, backward, optimiser, moving averages; with the passes that the backend wants.
graph::Graph training_graph(const config::Settings& settings, const backend::Backend& backend,
                            const TensorDesc& images);
/// Is the true class among the five likeliest? That is asked of ImageNet's images.
inline bool reports_top_5(data::DatasetId dataset) {
    return dataset == data::DatasetId::imagenet;
}
/// Forward with moving averages; the extra output kLogits is marked when asked for.
graph::Graph evaluation_graph(const config::Settings& settings, const backend::Backend& backend,
                              const TensorDesc& images, bool with_logits = false);
inline constexpr const char* kLogits = "logits";

/// Every variable of a graph by name: what its checkpoint must hold.
std::map<std::string, TensorDesc> variables(const graph::Graph& graph);

}  // namespace cnntrain::train
