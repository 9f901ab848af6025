// The task interface: data, graphs, results and names of one kind of training. Everything else in a run is common to
// all tasks: the loop, checkpoints, validation, logs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/options/settings.h"
#include "cnntrain/parallel/run_plan.h"
#include "cnntrain/run/observer.h"
#include "cnntrain/run/rows.h"
#include "cnntrain/run/scores.h"

namespace cnntrain::run {

using data::Samples;

/// The learning rate as recorded in MLPerf's log.
struct MlperfRate {
    double warmup_iterations = 0;
    double base = 0;
    double end = 0;
    double decay_power = 0;  // exponent of the decay after warm-up; 0 if the decay is not a power
};

/// Facts about a task that MLPerf's log records in addition to the run.
struct MlperfBenchmark {
    std::string name;     // "resnet"
    std::string quality;  // validation column in percent, recorded as eval_accuracy
    double target = 0;    // value of `quality` above which a run is a success
    std::vector<std::pair<std::string, options::Value>> facts;
    double warmup_epochs = 0;
    std::function<MlperfRate(const metrics::TrainingSize&)> rate;
};

/// A task's description of itself.
struct TaskDescription {
    std::string model;                                 // used in file names: "resnet50"
    std::string run_name = {};                         // begins the name of a new run's folder
    bool tags_run_name = true;                         // a tag follows, which distinguishes runs with equal settings
    std::string title = {};                            // shown to users: "resnet 50"
    std::string details = {};                          // printed after the title: "batch norm"
    std::string update = "iteration";                  // name of a weight update in messages
    std::map<std::string, std::string> identity = {};  // what identifies a compiled model: "model" -> "resnet-50"
    std::map<std::string, std::string> work = {};      // what else changes a function's cost: "norm" -> "batch"
    bool dated_log = false;                            // lines begin with metrics::dated_prefix()
    std::string events_folder = {};                    // of TensorBoard's files, below the run's; empty: the run's
    std::string summary_head = {};                     // first and last lines of a run's summary
    std::string summary_training = {};                 // the summary's text about training
    std::string summary_tail = {};
    backend::Arithmetic arithmetic;  // data types of this part of the run
    std::size_t io_bits = 0;         // bits per number in samples sent to the device; 0: not reported
    std::map<std::string, options::Value> arguments = {};  // keys in arguments.json beyond the options
    std::optional<MlperfBenchmark> mlperf = {};            // empty: MLPerf has no such benchmark
};

/// A line of a dry run.
struct Topic {
    std::string name;
    std::string text;
};

/// The graphs of a task. training: one whole weight update, with everything the options ask for; with_update() in
/// compile_request.h derives it from a forward graph. Others are forward only: evaluation with the outputs that the
/// columns of validation and inference read, classes with the output kLogits, [N,C] (tasks that are Classifiers; of
/// Scorers [N,...]), maps with kMaps, too (Classifiers of images), words with nn::kWordScores (WordPredictors).
enum class GraphUse : std::uint8_t { training, evaluation, classes, maps, words };

/// The learning rate of a training run.
struct Rate {
    std::function<double(std::int64_t)> at;  // of HostStep::lr_iteration
    std::vector<Topic> topics;               // optimiser and learning rate, for users
};

/// Samples that are counted before the data are opened. published: those of the published set; reads no file. used:
/// those that a run uses: counted in its files if they exist, otherwise as published. Error(data) if the files are
/// damaged.
enum class Counted : std::uint8_t { published, used };

/// A row for the console.
using PrintedRow =
    std::variant<const metrics::TrainingRow*, const metrics::ValidationRow*, const metrics::InferenceRow*>;

/// Permitted differences between the network and the checkpoint with which a training begins. Parts are given by the
/// first words of their variables' names.
struct FirstWeights {
    std::vector<std::string> last_layer = {};  // missing, or of other classes: drawn anew
    std::vector<std::string> may_have = {};    // beyond the network: not read
    std::vector<std::string> may_lack = {};    // missing as a whole: drawn anew
    /// Names of the network's classes. If the checkpoint names others, the variables of `last_layer` keep the elements
    /// of classes that both have, at the ends of the last axes, and their other elements are drawn. Empty: only shapes
    /// are compared.
    std::vector<std::string> classes = {};
    bool classes_first = false;  // the last layer's weight is [C,F], not [...,F,C]
};

// Names of the validation columns by which weights are compared, and that EstimatorReport reads.
inline constexpr const char* kTop1Column = "val_acc";
inline constexpr const char* kTop5Column = "val_top5_acc";
inline constexpr const char* kValidationLossColumn = "val_loss";
inline constexpr const char* kBalancedColumn = "balanced_acc";

/// The form of a row of kLogits, by which the answers of two networks are compared: those of classes, of the first and
/// of the last token of an answer ([2,S]), of any labels, or one number.
enum class AnswerForm : std::uint8_t { one_class, positions, labels, score };

/// Facts about a task that do not depend on its data.
struct TaskTraits {
    /// The output whose sum is the loss. Training has diverged if it is not finite.
    std::string loss;
    /// The columns of validation whose sum is a result by which weights are compared.
    std::map<Metric, std::vector<std::string>> metrics = {{Metric::accuracy, {kTop1Column}},
                                                          {Metric::balanced_accuracy, {kBalancedColumn}},
                                                          {Metric::top_5, {kTop5Column}},
                                                          {Metric::loss, {kValidationLossColumn}}};
    /// False if all samples are generated: results on them are meaningless, and few samples serve as well as many.
    bool has_real_data = true;
    /// The number of weight updates in a checkpoint minus the number in its name. The first checkpoint's number is
    /// always 0.
    std::int64_t checkpoint_lag = 0;
    /// True if training that starts from a checkpoint's weights also loads its optimiser state, if present.
    bool takes_over_optimiser = false;
    /// Rules for first weights, except for the names of classes: those are class_names().
    FirstWeights first_weights = {};
    AnswerForm answers = AnswerForm::one_class;
};

// Sums that a validation with counts of classes adds to those of the graph's outputs.
inline constexpr const char* kRecallSum = "recall_sum";      // over classes: share of the class's samples that is right
inline constexpr const char* kClassesSeen = "classes_seen";  // classes that have samples

/// Error(internal) unless all outputs that the columns read are scalar outputs of the graph, whose sums a backend
/// reports, counted with the classes, or a Scorer's.
void check_columns(const graph::Graph& graph, const std::vector<metrics::Column>& columns);

/// The column of the balanced accuracy in percent, for tasks with classes: the last one of validations in training.
metrics::Column balanced_accuracy_column();
class Task;
struct Host;
/// Extra line for a row with a balanced accuracy, starting with '\n': its loss and balanced accuracy; "" for other
/// rows.
std::string balanced_accuracy_line(const Task& task, const metrics::ValidationRow& row);

/// A task that assigns each sample one of C classes. `inference` without --iterations needs one.
class Classifier {
public:
    virtual ~Classifier() = default;

    struct Subjects {
        std::unique_ptr<data::Stream> stream;
        std::vector<std::string> names;       // of the samples; empty: they have numbers only
        bool printed = false;                 // on the console, one line each
        std::vector<std::int64_t> rows = {};  // of the samples in their file, from 1; empty: they are not rows of one
        /// Numbers of the samples in the rows of kLogits over the stream; -1: none. Empty: 0, 1, ...
        std::vector<std::int64_t> order = {};
    };
    /// `loader`: as of loader_settings().
    virtual Subjects subjects(const data::LoaderSettings& loader) const = 0;
    /// The field with the true class, i32[N].
    virtual std::string_view label_field() const = 0;

    /// An evaluation graph with output kFeatures, [N,F]: the input of the last layer.
    struct Features {
        graph::Graph graph;
        nn::LastLayer last_layer;
    };
    virtual Features features_graph(const std::vector<data::Field>& fields) const = 0;
    /// The samples of a split in order, each once per sweep; those that cannot be read have the label kLeftOut.
    /// `augmented`: as training changes them, differently in each sweep; otherwise as evaluation reads them.
    virtual std::unique_ptr<Samples> in_order(data::Split split, bool augmented) const = 0;
};

/// The sum that divides a Scorer's values: 1 for a whole split, 0 where they are not known.
inline constexpr const char* kScored = "scored";
/// A column of validation with the value of this name, unchanged.
metrics::Column score_column(const std::string& name, const std::string& label);

/// An output of all rows of a split, in f32, with rows of padding at the end.
struct RowOutputs {
    std::int64_t width = 0;  // numbers of a row
    std::vector<float> values = {};
    std::vector<std::int32_t> labels = {};  // of the rows, if the Scorer names their field

    std::span<const float> of(std::int64_t row) const {
        return std::span(values).subspan(static_cast<std::size_t>(row * width), static_cast<std::size_t>(width));
    }
};

/// An answer about a subject, such as a question or a text, which is made of one sample or several.
struct Answered {
    std::string line;                                                 // for the console
    std::vector<std::pair<std::string, options::Value>> fields = {};  // columns of the predictions file
};

/// The results of a split's outputs.
struct Scored {
    std::map<std::string, double> values = {};  // of the columns that score_column() makes
    std::vector<Answered> answers = {};
    std::vector<std::string> lines = {};                          // for the console, after the answers
    std::vector<std::pair<std::string, std::string>> files = {};  // name and text, for the folder of results
    std::vector<metrics::ClassCount> classes = {};                // of several labels, for the table of classes
    std::map<std::string, std::string> metadata = {};             // of a checkpoint of the weights
};

// Samples with any of C labels. A label is predicted if its probability, the sigmoid of its logit, is at least its
// threshold: 0.5, or in a checkpoint that a validation has chosen as the best, the one with the best F1.

inline constexpr const char* kExact = "exact";        // share of samples all of whose labels are right at 0.5
inline constexpr const char* kMicroF1 = "micro_f1";   // at 0.5, of all labels together
inline constexpr const char* kMacroF1 = "macro_f1";   // at 0.5, mean over the labels
inline constexpr const char* kMeanPrecision = "map";  // mean over the labels of the average precision
inline constexpr const char* kLabelTable = "label_scores.csv";

/// The sigmoid of a label's logit.
double probability_of(float logit);
/// Values of these names, counts of the labels, and a table with a row for each. `logits`, `labels`: [N,C]; samples
/// with a negative label are left out.
Scored scored_labels(std::span<const float> logits, std::span<const std::int32_t> labels,
                     const std::vector<std::string>& names);
/// The thresholds in the checkpoint that a restore path names; 0.5 where there are none. Reads the header only.
std::vector<double> label_thresholds(const FileSystem& files, const std::string& restore_path, std::size_t labels);
/// The predicted labels, joined by '|', and the probability of each label. `labels`: the true ones; kNoLabel: unknown;
/// kLeftOut: the sample could not be read. `key`: the sample's column of the file.
Answered answered_labels(const std::string& subject, std::pair<std::string, options::Value> key,
                         std::span<const float> logits, std::span<const std::int32_t> labels,
                         const std::vector<double>& thresholds, const std::vector<std::string>& names);

/// A task with results that are no sums over samples. They follow from the output kLogits, in graphs for
/// GraphUse::classes, of all rows of a split.
class Scorer {
public:
    virtual ~Scorer() = default;
    /// Results of a validation. `sums`: of the graph's scalar outputs. All ranks compute them; one writes the files.
    virtual Scored scores(const RowOutputs& logits, const metrics::Sums& sums) const = 0;
    /// True if scores() fills in Scored::classes.
    virtual bool counts_labels() const { return false; }
    /// The field of RowOutputs::labels, i32[N,...]; "": none.
    virtual std::string_view labels_read() const { return ""; }
    /// `inference`: the samples that are answered, in order, and their answers; without values.
    virtual std::unique_ptr<Samples> asked() const = 0;
    virtual Scored answers(const RowOutputs& logits) const = 0;
};

/// A task that predicts masked words of texts, with the fields and outputs of graph/bert.h.
class WordPredictor {
public:
    virtual ~WordPredictor() = default;
    /// The split on which predictions are shown: validation where there is one.
    virtual data::Split words_split() const = 0;
};

/// A call of the network in an evaluation or inference.
struct Call {
    double seconds = 0;
    std::int64_t samples = 0;
};

struct LastUpdate {
    double seconds = 0;  // since the first
};

struct LastCall {
    std::span<const Call> calls;  // of this rank
    int ranks = 1;
};

/// Moments of a run at which a log may have further lines: the start of a training, the end of its last update, the end
/// of the last call of an evaluation or inference.
using Moment = std::variant<const schedule::RunPlan*, LastUpdate, LastCall>;

inline constexpr const char* kLogits = "logits";
inline constexpr const char* kFeatures = "features";
inline constexpr const char* kMaps = "maps";  // [N,H,W,C], nn::mark_maps()

class Task {
public:
    virtual ~Task() = default;

    virtual const TaskTraits& traits() const = 0;
    virtual const metrics::Columns& columns() const = 0;
    virtual TaskDescription description() const = 0;
    /// The text of a row for the console.
    virtual std::string printed(const PrintedRow& row) const = 0;
    /// Lines for those who parse the log of an original program; "": none.
    virtual std::string printed_at(const Moment& /*moment*/) const { return ""; }

    /// Throws Error(data) if files are missing or damaged, Error(usage) for impossible settings.
    virtual std::unique_ptr<Samples> open(data::Split split) const = 0;
    /// Samples::rows() of a split, or 0 where it is not used.
    virtual std::int64_t samples(data::Split split, Counted how) const = 0;
    /// Samples::fields() of a split that need not be there; reads no file. Validation may pack several samples into a
    /// row instead.
    virtual std::vector<data::Field> batch_fields(data::Split split, std::int64_t samples) const = 0;
    /// Memory that the training's stream and data set will hold, without what is in memory already; reads no file. By
    /// default the memory of a Loader and an index of its samples.
    virtual std::uint64_t input_bytes(const data::LoaderSettings& loader) const;
    /// Names of the classes by number, with which checkpoints are saved; empty: classes have numbers only. Reads the
    /// data.
    virtual std::vector<std::string> class_names() const { return {}; }

    /// Length, host steps, log lines and checkpoints of a training run on `samples` samples, or rows of them. Throws
    /// Error(usage) like schedule::make_run_plan().
    virtual schedule::RunPlan plan(std::int64_t samples) const = 0;
    virtual Rate rate(const schedule::RunPlan& plan) const = 0;
    /// `fields`: Samples::fields().
    virtual graph::Graph graph(GraphUse use, const std::vector<data::Field>& fields) const = 0;
    /// Model, data and input of the command, for a dry run.
    virtual std::vector<Topic> dry_run_topics(options::Command command) const = 0;

    /// A result of a validation, by which weights are compared; empty if its rows do not have it.
    std::optional<double> metric(Metric metric, const metrics::ValidationRow& row) const;
    bool has_real_data() const { return traits().has_real_data; }
    /// Name of a new run's folder.
    std::string run_name(std::string_view tag) const;
    FirstWeights first_weights() const;
    /// Null if the task assigns no classes.
    virtual const Classifier* classifier() const { return dynamic_cast<const Classifier*>(this); }
    /// The classifier whose last layer can be solved from features, also for several labels; null: there is none.
    virtual const Classifier* solvable() const { return classifier(); }
    /// Null if all results of the task are sums over samples.
    virtual const Scorer* scorer() const { return dynamic_cast<const Scorer*>(this); }
    /// Null if the task predicts no words.
    const WordPredictor* word_predictor() const { return dynamic_cast<const WordPredictor*>(this); }
};

/// Form of a pipeline in a task's options, if it is not --pipeline and --pipeline-splits.
struct PipelineOptions {
    /// The options that begin stages 1, 2, ... at these functions, on a command line with these settings.
    std::string (*stages)(const options::Settings& settings, const std::vector<std::string>& splits);
    /// The task accepts only multiples of this many micro-batches.
    std::int64_t (*micro_batch_unit)(std::int64_t stages);
};

/// TaskRow::make for a class of tasks.
template <typename Own> std::unique_ptr<Task> make_task(const options::ParseResult& arguments,
                                                        const backend::Backend& backend, std::uint64_t seed) {
    return std::make_unique<Own>(arguments, backend, seed);
}

/// A row of the table of tasks (tasks/tasks.cpp).
struct TaskRow {
    options::TaskOptions options;
    /// `backend`: for which graphs are built; it must outlive the task. `seed`: of the samples' order and augmentation.
    std::unique_ptr<Task> (*make)(const options::ParseResult& arguments, const backend::Backend& backend,
                                  std::uint64_t seed);
    /// Names of the network's functions in order. A pipeline stage may begin at any of them.
    std::vector<std::string> (*functions)(const options::Settings& settings);
    /// The functions at which stages usually begin; null: all.
    std::vector<std::string> (*usual_splits)(const options::Settings& settings) = nullptr;
    /// The line that evaluates a checkpoint or all of a run's folder, where the task does not serve the commands that
    /// do; null: it serves them.
    std::string (*evaluation_line)(const std::string& checkpoint) = nullptr;
    /// Scopes of the variables and nodes of a function: everything in it is named "<scope>" or "<scope>/...", and the
    /// innermost scope of a name decides; of equal scopes, that of the last function. Null: "all/<function>".
    std::vector<std::string> (*scopes)(std::string_view function) = nullptr;
    std::optional<PipelineOptions> pipeline = {};
    /// Runs a command line of train or inference, where that may be more than one run: phases of the original
    /// programs. Null: it is one.
    int (*run)(const TaskRow& row, const options::ParseResult& arguments, const Host& host) = nullptr;
    /// True if by default every process that poprun starts prints: benchmarks of the original programs count these
    /// lines.
    bool every_process_prints = false;
};

/// The row as a record for all observers.
template <typename Row> metrics::Record reported(const Task& task, const Row& row) {
    metrics::Record record = metrics::record(row, task.columns());
    record.text = task.printed(&row);
    return record;
}

/// Shows observers a row with all columns that will be written. `own`: the columns of its results.
template <typename Row>
void announce(const Task& task, std::vector<metrics::Column> metrics::Columns::*own, metrics::Observers& observers) {
    Row row;
    row.results.resize((task.columns().*own).size());
    observers.on(metrics::Row{metrics::record(row, task.columns()), metrics::Row::Use::announced});
}

}  // namespace cnntrain::run
