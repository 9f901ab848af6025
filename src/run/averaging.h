// `--weight-avg-N` and `--weight-avg-exp`: averages of a run's checkpoints, computed after training.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/options/settings.h"
#include "cnntrain/parallel/run_plan.h"

namespace cnntrain::run {

/// Base name of the file with the average of --ema-decay, and of its rows.
inline constexpr std::string_view kAverageName = "weight_avg_ema";

struct AveragedCheckpoint {
    std::string name;  // "weight_avg_N_5", "weight_avg_exp_0.97"
    std::string path;
};

/// Writes the averages into the subfolder ckpt of `folder`. They include those planned checkpoints that exist, except
/// ckpt-0, so that a resumed run averages the same checkpoints as an uninterrupted one. An existing average of exactly
/// these checkpoints is kept; the validation row of any other is removed. Throws Error(not_found) if no checkpoint
/// exists.
std::vector<AveragedCheckpoint> average_checkpoints(FileSystem& files, const std::string& folder,
                                                    const schedule::RunPlan& plan, const CheckpointSettings& settings);

// The exponential moving average of a training's weights, in float32 on the host.

/// A variable of the model, that is a parameter or a moving average of statistics, and the variable that holds its most
/// precise value: its 32-bit master, or itself.
struct ModelVariable {
    std::string name;
    std::string source;
    TensorDesc desc;  // of `source`
};
/// The averaged variables of a training graph, in its order.
std::vector<ModelVariable> averaged_variables(const graph::Graph& graph);

/// The model's variables as they are in the executable, by name.
std::map<std::string, HostTensor> stored_model(const backend::Executable& executable,
                                               const std::vector<ModelVariable>& variables);

/// average = decay * average + (1 - decay) * weights after each update (Polyak and Juditsky 1992, with a decay). It
/// starts at the weights with which the training begins. With several processes, all have the same weights and so the
/// same average.
class WeightAverage {
public:
    /// `decay` lies between 0 and 1, both excluded.
    WeightAverage(std::vector<ModelVariable> variables, double decay);

    /// Starts at the present weights.
    void start(const backend::Executable& executable);
    /// Continues with averages from a checkpoint. Error(data) about `path` unless they are those of the variables.
    void restore(std::map<std::string, HostTensor> values, const std::string& path);
    /// Includes the weights after an update.
    void update(const backend::Executable& executable);

    const std::map<std::string, HostTensor>& values() const { return values_; }
    double decay() const { return decay_; }
    /// Seconds spent in update().
    double seconds() const { return seconds_; }

private:
    std::vector<ModelVariable> variables_;
    double decay_;
    std::map<std::string, HostTensor> values_;  // by the variables' names, f32
    double seconds_ = 0;
};

}  // namespace cnntrain::run
