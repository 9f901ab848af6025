// The runs of the commands train, restore, validation and inference.
//
// They report to metrics::Observers; Host has everything else that they need from the process. Each may throw
// Interrupted if a stop is requested while it waits for data and has nothing to save.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/environment.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/graph/passes.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/parallel/communicator.h"
#include "cnntrain/run/observer.h"
#include "cnntrain/run/task.h"

namespace cnntrain::run {

/// An error that all processes of a run encounter with the same message, so that printing it once is enough. All
/// processes throw it while they are still connected.
class ErrorOfAll : public Error {
public:
    explicit ErrorOfAll(const Error& error) : Error(error) {}
};

/// Makes a validation also print the lines of TensorFlow's Estimator. Their loss includes weight_decay / 2 times the
/// sum of squared weights, without those of norms.
struct EstimatorReport {
    double weight_decay = 0;
};

/// Resources that a run gets from its process.
struct Host {
    std::string command_line;            // as typed, for the log
    bool is_original_line = true;        // it names a script of the original programs, whose log is parsed
    FileSystem* files = &posix_files();  // for run folders and checkpoints; data sets are always real files
    std::ostream* console = nullptr;     // never null
    bool reports = true;                 // whether to print to the console
    /// Connects the processes that train or validate together; never null. Rank 0 reads and writes the run's files for
    /// all.
    std::shared_ptr<comm::Communicator> communicator = comm::make_alone();
    Terminal terminal = {};                // terminal of the console
    std::function<bool()> stop_requested;  // called between micro-batches and while waiting for one; empty: never
    /// Called with true when the run starts work that a stop must not interrupt, and with false when that work is
    /// saved. Outside these periods the process may be ended at once. Empty: not needed.
    std::function<void(bool)> hold_exit;
    /// A run that is stopped inside a weight update keeps its complete micro-batches if they took at least as long;
    /// otherwise `restore` repeats them.
    double least_kept_seconds = 1;
    std::optional<EstimatorReport> estimator = {};  // for `validation` of one ImageNet checkpoint
    /// Records what the threads of a profiled run do; null: nothing is recorded.
    std::shared_ptr<Timeline> timeline = {};
    std::string* run_folder = nullptr;  // receives the folder of a training's checkpoints; null: not wanted
};

/// True in the process that reads and writes files for all.
inline bool is_first(const Host& host) {
    return host.communicator->rank() == 0;
}

/// ErrorOfAll(peers) unless all ranks run the same version, command and options; it names each option that differs. The
/// ranks of a run exchange this first, because all else may depend on every option.
void agree_on_options(const options::ParseResult& arguments, const Host& host);

/// `train`: trains, then validates the run's checkpoints. Returns the exit code of the process: 0, or
/// kInterruptedExitCode after a requested stop, for which a checkpoint was written. Throws Error(diverged) if the loss
/// becomes non-finite (unless disabled), Error(usage) if the folder holds another run or another process writes to it.
int run_training(const TaskRow& task, const options::ParseResult& arguments, const Host& host);

/// `restore`: resumes the run recorded in the folder that `restore_line` names; otherwise like run_training().
int run_restored(const TaskRow& task, const options::ParseResult& restore_line, const Host& host);

/// The recorded options of that run, overridden by those of `restore_line`.
options::ParseResult restored_arguments(const TaskRow& task, const options::ParseResult& restore_line,
                                        const FileSystem& files);

/// `validation`: of one checkpoint, of all checkpoints in a folder, or of random weights. Error(not_found) without a
/// checkpoint.
int run_validation(const TaskRow& task, const options::ParseResult& arguments, const Host& host);

/// `inference`: with --iterations, measures throughput and latency of requests; otherwise prints the five most probable
/// classes of each sample. Error(unsupported) for a task without classes.
int run_inference(const TaskRow& task, const options::ParseResult& arguments, const Host& host);
/// True for an inference that measures requests, false for one that answers about every sample.
bool measures_requests(const options::Settings& settings);

struct ProfileRequest {
    std::int64_t steps = 10;  // measured ones
    std::string folder = {};  // for its files; empty: none are written
};
/// `profile`: measures steps of the line and prints where their time goes. The line makes no run folder.
int run_profile(const TaskRow& task, const options::ParseResult& arguments, const ProfileRequest& request,
                const Host& host);

// Predictions of a run's network for single samples of its validation split, as a file in the run's folder.
//
// sample_predictions.json is an object:
//
//   key         what the predictions belong to: checkpoint, crc32c of its header, data, samples asked for, version
//   split       "validation", or "training" where the run has no validation texts
//   samples     of the split; `seen`: of these, evenly spread; `left_out`: could not be decoded
//   classes     names by number; empty: they have numbers only
//   rows        of classifiers, a list for each sample that has a label: name, label, probability of the label's
//               class, the most probable classes, their probabilities
//               With several labels, each label of a sample is a row: the class "cat", or "no cat"
//   pictures    of the samples with the least probable labels: row -> JPEG in base 64
//   maps        the same with the class-activation map of the class that they were taken for
//   temperature, by which logits are divided for the least loss, and `calibration`: two objects, for temperature 1 and
//               for this one: loss, error (metrics::Calibration), bins (samples, correct, sum of confidences)
//   texts       as pictures, for texts: row -> ids of the tokens
//   sequences   of networks that predict words: {tokens, masked: [{at, id, guesses, probabilities}]}

inline constexpr std::string_view kSamplePredictionsFile = "sample_predictions.json";

struct SamplePredictionSettings {
    std::string checkpoint;                  // file of the network's weights
    std::map<std::string, std::string> key;  // as stored
    std::int64_t most_samples = 1000;        // 0: all
    std::size_t most_pictures = 32;
    std::size_t most_sequences = 12;
};

/// The text of that file. `arguments`: of the training run. Error(unsupported) for a task that predicts neither classes
/// nor words. Throws Interrupted if a stop is requested.
std::string sample_predictions(const TaskRow& row, const options::ParseResult& arguments,
                               const SamplePredictionSettings& settings, const Host& host,
                               metrics::Observers& observers);

// Networks in 8 bits.

struct QuantiseSettings {
    std::string checkpoint;      // file of the network's weights
    std::string output;          // file to write
    std::int64_t samples = 256;  // training samples from which the ranges of values are taken
    double most_loss = 0.5;      // points of accuracy on the validation split, not less than two samples
};

/// `quantise`: measures the ranges of the network's values on training samples, tries several choices of limits, leaves
/// layers in their floating type if the answers change too much, and writes a copy of the checkpoint that says how to
/// compute in 8 bits. `arguments`: of a validation of that checkpoint. Error(unsupported) if the accuracy falls by more
/// than is accepted, and for networks without such layers or without classes.
void quantise(const TaskRow& row, const options::ParseResult& arguments, const QuantiseSettings& settings,
              const Host& host, metrics::Observers& observers);

/// The plan in 8 bits that stands in the checkpoint of a restore path; nothing for checkpoints without one, and
/// for a path that names none. Error(data) if that is damaged.
std::optional<graph::EightBitPlan> eight_bit_plan(const FileSystem& files, const std::string& restore_path);

/// The graphs of a task that evaluates --restore-path. Its checkpoint is read when the first graph is asked for.
class EvaluationGraphs {
public:
    EvaluationGraphs(const options::Settings& settings, const backend::Backend& backend)
        : settings_(settings), backend_(backend) {}

    /// This graph, in 8 bits if the checkpoint has a plan and the processor can follow it.
    graph::Graph as_checkpoint_computes(graph::Graph wide) const;

private:
    const options::Settings& settings_;
    const backend::Backend& backend_;
    mutable std::optional<std::optional<graph::EightBitPlan>> plan_;
};

// Samples that look wrongly labelled, and near-duplicates across splits, by the features of a trained network.

struct SuspectSettings {
    std::string checkpoint;           // file of the network's weights
    std::string folder;               // of its run, with the features
    std::size_t neighbours = 10;      // whose labels are compared
    double least_similarity = 0.999;  // of near-duplicates
};

/// A labelled sample. All samples are listed, the most suspicious first.
struct Suspect {
    data::Split split = data::Split::train;
    std::string sample;            // a file, or a file and a record
    std::string label;             // class
    std::string other_label;       // the class that speaks most against it
    double score = 0;              // log of how much likelier the other class is, from the other samples
    std::string neighbours_label;  // the most frequent one among the nearest training samples
    double neighbours_share = 0;   // of them that have the sample's own label
};

/// A training and a validation sample with almost the same features.
struct Duplicate {
    std::string training, validation;
    double similarity = 0;  // cosine of centred features
    bool same_label = false;
};

struct SuspectReport {
    std::vector<Suspect> suspects;
    std::vector<Duplicate> duplicates;  // the most similar first
    std::int64_t training = 0, validation = 0;
};

/// `arguments`: of the training run. The features come from the run's cache, or are computed and kept there. Throws
/// Interrupted if a stop is requested.
SuspectReport find_suspects(const TaskRow& row, const options::ParseResult& arguments, const SuspectSettings& settings,
                            const Host& host, metrics::Observers& observers);

// Describes what a command line would do, without running it.

/// Set to "off", it leaves out the estimates of a training's memory and time, which take some seconds.
inline constexpr const char* kEstimateVariable = "CNNTRAIN_DRY_RUN_ESTIMATE";

/// The resolved run, one line per topic: model, data, batches, length, schedule, precision, files, and for a training
/// its memory, time and checkpoints. The graph is compiled without memory for its values, and a few micro-batches of
/// made-up samples are computed for some seconds. Data of a new run need not exist: the number of images comes from the
/// data files if their folder exists, otherwise from the published set. A resumed training needs its checkpoint and its
/// data, which are compared as the run does.
/// Throws the run's error where the run would be refused before it opens its data, for other data than the resumed
/// run's, and for a graph that the backend cannot compile.
std::string dry_run_text(const TaskRow& row, const options::ParseResult& arguments);

/// Prints dry_run_text() in rank 0's process. Errors are those of the run's ranks.
void print_dry_run(const TaskRow& row, const options::ParseResult& arguments, const Host& host);

}  // namespace cnntrain::run
