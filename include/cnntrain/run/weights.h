// Moves weights between executables and checkpoints. A 16-bit variable may have a 32-bit master (optim::Master), which
// starts with the variable's unrounded value.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/io.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/dataset.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/options/settings.h"
#include "cnntrain/parallel/pipeline.h"
#include "cnntrain/run/rows.h"
#include "cnntrain/run/task.h"
#include "cnntrain/weights/checkpoint.h"

namespace cnntrain::run {

/// Draws initial values for every parameter and state of the graph.
void initialise(backend::Executable& executable, const graph::Graph& graph, std::uint64_t seed);

/// The variables of a single training process. Each is copied when requested. `executable` must outlive the result.
weights::TensorSource variable_source(const backend::Executable& executable);
/// The same with the moving averages of variables, as weights/average.h names them. `averages` must outlive
/// the result.
weights::TensorSource with_averages(weights::TensorSource source, const std::map<std::string, HostTensor>& averages);
/// All variables of the executable, in their stored types.
std::map<std::string, HostTensor> stored_variables(const backend::Executable& executable);

/// The weights of a checkpoint as the settings want them: its own, or with --ema their moving averages.
weights::Checkpoint checkpoint_weights(const FileSystem& files, const std::string& path,
                                       const options::Settings& settings);

/// A checkpoint with which a training begins, without moving averages.
weights::Checkpoint first_checkpoint(const FileSystem& files, const std::string& path,
                                     const options::Settings& settings);

/// Loads all variables of the graph from a checkpoint that must hold exactly these. Error(data) lists all differences.
void load_all(backend::Executable& executable, const graph::Graph& graph, const weights::Checkpoint& checkpoint,
              const std::string& path);

/// The model's variables in the graph's types. Optimiser slots, `<variable>/<slot>`, may be absent and are ignored.
std::map<std::string, HostTensor> model_variables(const graph::Graph& graph, weights::Checkpoint checkpoint,
                                                  const std::string& path);
/// The same variables with newly drawn values.
std::map<std::string, HostTensor> initial_variables(const graph::Graph& graph, std::uint64_t seed);

/// Converts a BERT checkpoint of Hugging Face's transformers, or an image network's weights of another program
/// (graph/model.h), to the variables of the graph; returns any other checkpoint unchanged. Throws Error(data)
/// for tensors that are missing or have other shapes than the network's, and Error(usage) that names the option when
/// BERT's config.json gives another activation, epsilon or number of heads.
weights::Checkpoint in_own_layout(weights::Checkpoint checkpoint, const graph::Graph& graph, const std::string& path);

/// A checkpoint that has all variables of the network: those that it may lack are drawn anew, in 32 bits.
struct CompletedWeights {
    weights::Checkpoint checkpoint;
    std::vector<std::string> drawn;        // variables, sorted
    std::vector<std::string> replaced;     // those of them that the checkpoint has for other classes
    std::vector<std::string> left_out;     // variables that the network does not have, sorted
    bool reordered = false;                // the checkpoint has the same classes in another order
    std::vector<std::string> extended;     // variables that keep the elements of classes that both have
    std::vector<std::string> new_classes;  // then: those whose elements are drawn
};
/// Error(data) for a last layer that differs in more than its number of classes.
CompletedWeights completed(weights::Checkpoint checkpoint, const graph::Graph& graph, const FirstWeights& allowed,
                           std::uint64_t seed, const std::string& path);

/// Sets all variables of `to` to those of the same names in `from`, in groups, so that little memory is taken.
void copy_variables(const backend::Executable& from, backend::Executable& to);

/// True if the checkpoint holds a tensor for every slot of the graph.
bool holds_slots(const graph::Graph& graph, const weights::Checkpoint& checkpoint);

/// Message about the optimiser's state in a checkpoint of which a training takes the model alone; "" if there is none,
/// or the graph has no update.
std::string state_left_out(const graph::Graph& graph, const weights::Checkpoint& checkpoint);

/// Loads model_variables(). Logs state_left_out(). Error(diverged) for numbers that are not finite, or with stop_on_nan
/// off a warning.
void load_model(backend::Executable& executable, const graph::Graph& graph, weights::Checkpoint checkpoint,
                const std::string& path, const RunSettings& settings);

/// Draws the masters and their variables again; call it after initialise().
void initialise_masters(backend::Executable& executable, const graph::Graph& graph, std::uint64_t seed);

/// Sets the masters to the variables' values in a checkpoint that holds the model.
void load_masters(backend::Executable& executable, const graph::Graph& graph, const weights::Checkpoint& checkpoint);

/// Sets these variables, and the masters of those that have one, to values in float32.
void load_with_masters(backend::Executable& executable, const graph::Graph& graph,
                       const std::map<std::string, HostTensor>& values);
/// The checkpoint that --restore-path stands for in a command that evaluates one: of a run's folder the best one,
/// otherwise the newest. Prints which one unless the path names it.
weights::Found checkpoint_to_evaluate(const FileSystem& files, const std::string& restore_path);

metrics::NanRow count_nans(std::int64_t iteration, const weights::TensorSource& tensors);

// Loader settings of runs.

/// Memory of a data set's index: the place of each sample in its file, and the order of an epoch.
std::uint64_t index_bytes(std::int64_t samples);

/// Settings for loops over samples that take one micro-batch at a time.
data::LoaderSettings loader_settings(const options::Settings& settings, std::int64_t first_sample);
/// Settings for training, which may hold several batches at once. `fields`: of a batch.
data::LoaderSettings training_loader_settings(const options::Settings& settings, const schedule::Placement& placement,
                                              const std::vector<data::Field>& fields, std::int64_t first_sample);
/// Settings for validation. With --latency, queued batches would add their waiting time to the measurement, so the
/// queue has one batch unless --prefetch-depth is given.
data::LoaderSettings validation_loader_settings(const options::Settings& settings);
/// Settings for request threads, each of which holds one batch. `fields`: of a batch.
data::LoaderSettings request_loader_settings(const options::Settings& settings, const std::vector<data::Field>& fields);

// The samples of a task whose data are a data::Dataset.

/// The training split is shuffled and endless; the validation split is read in order, once per pass. `seed`: of the
/// order.
std::unique_ptr<Samples> dataset_samples(std::shared_ptr<const data::Dataset> dataset, data::Split split,
                                         std::uint64_t seed);

// Compares a vocabulary with the one that the run of a checkpoint has read.

/// True if the checkpoint's run has read a vocabulary and this file is byte for byte the same; false if the checkpoint
/// records none: it is one of pretraining, of an earlier version or of another program. Error(data) for another file:
/// with it, every text would become other numbers than the network has learned.
bool is_vocabulary_of(const FileSystem& files, const std::string& checkpoint, const std::string& vocabulary);

}  // namespace cnntrain::run
