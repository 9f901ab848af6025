// Builds compile requests for backends from settings. Uses no files and no clocks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/processor.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/optimiser.h"
#include "cnntrain/graph/settings.h"
#include "cnntrain/options/settings.h"
#include "cnntrain/parallel/communicator.h"
#include "cnntrain/parallel/pipeline.h"
#include "cnntrain/parallel/run_plan.h"
#include "cnntrain/run/task.h"

namespace cnntrain::run {

// The backend of a run, its cores and its number formats.

/// Null if the program was built without the backend.
std::unique_ptr<backend::Backend> available_backend(backend::BackendKind kind);
/// Error(unsupported) if the program was built without the backend.
std::unique_ptr<backend::Backend> make_backend(backend::BackendKind kind);

/// True if the backend's device is emulated (BackendInfo).
bool is_emulated(const RunSettings& settings);

/// Cores for --threads and --input-threads on this machine.
CoreBudget core_budget(const RunSettings& settings);
/// Number of compute threads on this machine.
int compute_threads(const RunSettings& settings);

/// The data type in which activations are computed, with the reason.
backend::Arithmetic arithmetic(const nn::PrecisionSettings& settings, const backend::Backend& backend);
nn::NumericsSettings numerics(const nn::PrecisionSettings& settings, const backend::Backend& backend);

// Describes the machine for the log and for `cnntrain --version --verbose`.

/// "cnntrain 0.1.0".
std::string version_line();

/// The first line of the log of a run on an emulated device.
inline constexpr std::string_view kEmulatorNotice =
    "An emulator runs, no IPU: results are those of IPUs, times are those of this machine's processor.";

/// One line each: processor and instruction sets; cores and threads; backend; what would make runs faster.
std::vector<std::string> machine_lines(const backend::Backend& backend, const RunSettings& settings);

/// The update plan of a training run in this process, with one update per call.
schedule::UpdatePlan update_plan(const options::Settings& settings);
/// Settings of a training run that only the CPU backend uses.
backend::CpuSettings cpu_settings(const options::Settings& settings);
/// Settings of a training run that only the IPU backend uses.
backend::IpuSettings ipu_settings(const options::Settings& settings);
/// IPUs of each replica of a plan.
std::int64_t ipus_of_replica(const schedule::UpdatePlan& plan);
/// Describes the IPUs of a plan: "4, emulated: 2 replicas of 2 IPUs, 2 stages each".
std::string ipus_text(const schedule::UpdatePlan& plan, bool emulated);
/// Plans how the backend executes the weight updates of a training run. Throws Error(usage) for settings it cannot
/// follow, such as lanes without work.
schedule::Placement placement(const options::Settings& settings, const backend::Backend& backend);

/// Request for a graph that is only evaluated. `fields`: of the source that feeds the graph. `seed`: for stochastic
/// rounding and dropout. `stop_requested`: empty for never.
backend::CompileRequest compile_request(const graph::Graph& graph, const options::Settings& settings,
                                        std::vector<data::Field> fields, std::uint64_t seed,
                                        std::function<bool()> stop_requested = {});
/// Request for a graph that is trained, with update_plan().
backend::CompileRequest training_request(const graph::Graph& graph, const options::Settings& settings,
                                         std::vector<data::Field> fields, std::uint64_t seed);

/// The connection of a training run to its other processes.
backend::Peers peers(const options::Settings& settings, comm::Communicator& communicator);

// Batches, length and pipeline stages of a training run.

/// The batches of one process.
schedule::BatchPlan batch_plan(const options::Settings& settings);
/// `samples`: number of training samples. Throws Error(usage) like schedule::make_run_plan().
schedule::RunPlan run_plan(const options::Settings& settings, std::int64_t samples);

/// Throws Error(usage) for splits that are not functions of the network (naming the nearest), that are out of order or
/// that do not match --shards; for a number of micro-batches that the pipeline schedule cannot run; and for anything
/// that the backend's placement() refuses. An evaluation has no stages.
void check_stages(const TaskRow& task, const options::Settings& settings);

// Extends a forward graph to a whole weight update.

/// Decay of batch norm's running statistics, in networks that have them.
inline constexpr double kMovingAverageDecay = 0.97;

/// An output that is a term of the loss. Training minimises the sum of all terms, each divided by its divisor.
struct LossTerm {
    std::string_view output;
    double divisor = 1;
};

/// Adds a whole weight update to a forward graph, as the settings ask: loss scaling, recomputation, gradients,
/// optimiser, moving averages, and the rewrites that the backend wants. The loss scale is a scalar input of the
/// graph.
graph::Graph with_update(graph::Graph forward, const std::vector<LossTerm>& loss, const options::Settings& settings,
                         const backend::Backend& backend, double moving_average_decay = kMovingAverageDecay);
/// `loss`: name of the output that is summed over a micro-batch's samples.
graph::Graph with_update(graph::Graph forward, std::string_view loss, const options::Settings& settings,
                         const backend::Backend& backend, double moving_average_decay = kMovingAverageDecay);

/// The optimiser's settings for the run's batches.
optim::UpdateSettings update_settings(const options::Settings& settings, const backend::Backend& backend,
                                      double moving_average_decay = kMovingAverageDecay);

/// All variables of a graph by name: the contents of its checkpoint.
std::map<std::string, TensorDesc> variables(const graph::Graph& graph);
/// Warns if --force-weight-to-fp16 or --force-weight-to-fp32, which match parts of names, matches no variable; that is
/// probably a typing error.
void warn_of_idle_filters(const graph::Graph& graph, const nn::PrecisionSettings& settings);

// Input for a graph whose speed is measured.

/// The same generated values again and again for every input of a graph. Numbers are in [0, 1), bytes are any. Integers
/// that name rows are spread over all rows, since the speed of their gradients depends on how often a row is named;
/// masks hide nothing; other integers are 0.
data::FixedBatch made_up_batches(const graph::Graph& graph);

}  // namespace cnntrain::run
