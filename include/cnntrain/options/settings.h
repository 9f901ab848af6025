// The settings of a run as plain typed values. Each module declares its part in its settings.h; parse.h fills in all of
// them. Members with a default always have a value; std::optional is used only where "not given" has a meaning of its
// own. Settings that all tasks share are members here; a task adds its own struct as TaskSettings.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cnntrain/backend/settings.h"
#include "cnntrain/base/error.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/graph/bert.h"
#include "cnntrain/graph/settings.h"
#include "cnntrain/parallel/settings.h"

namespace cnntrain::run {

/// Use of this machine by the run.
struct RunSettings {
    backend::BackendKind backend = backend::BackendKind::cpu;
    std::int64_t threads = 0;                    // compute threads; 0: all cores of the process
    bool thread_independent = false;             // results do not depend on the number of compute threads
    std::int64_t input_threads = 0;              // threads that prepare samples; 0: chosen by the loader
    std::optional<std::int64_t> prefetch_depth;  // micro-batches prepared ahead; empty: chosen by the loader
    bool stop_on_nan = true;                     // stop with Error(diverged) at the first non-finite loss
};

struct MainSettings {
    bool trains = true;                      // false: only evaluates
    std::string task = {};                   // as the line or its configuration names it
    std::optional<std::string> config_path;  // file or folder with configurations
    std::optional<std::string> config;       // configuration name
    /// train, restore: folder of the run to resume; validation: checkpoint file or folder.
    std::optional<std::string> restore_path;
    bool accept_other_data = false;                // restore: the data need not be those that the run began with
    bool averaged_weights = false;                 // validation, inference: the moving averages of the weights
    std::int64_t repeat = 1;                       // validation: runs per checkpoint
    std::int64_t inference_threads = 1;            // inference: requests in flight
    std::string predictions = {};                  // inference: their file; empty: predictions.csv in the run's folder
    std::string features = {};                     // inference: file for the features of the samples; empty: none
    std::string maps = {};                         // inference: folder for class-activation maps; empty: none
    double temperature = 1;                        // inference: by which logits are divided
    double unknown_below = 0;                      // inference: least probability of a class that is believed
    std::int64_t top_classes = 5;                  // inference: number of classes in a prediction
    bool force_recompile = false;                  // inference: ignore an existing compiled model
    bool temporary_executable = false;             // inference: remove the compiled model at the end
    std::optional<std::int64_t> total_batch_size;  // validation: global batch of the training run
};

struct TrainingSettings : schedule::ScheduleSettings {
    std::vector<std::int64_t> device_mapping;  // device of each pipeline stage; empty: chosen
    bool recomputation = false;                // of activations, in the backward pass
    std::optional<std::string> init_path;      // checkpoint with the initial weights
    bool init_strict = false;                  // they must fit the network without exception
    std::int64_t syncs_per_epoch = 0;          // broadcasts of the weights to all processes
    double epochs_per_sync = 0.0;              // epochs between broadcasts, if > 0
    double ema_decay = 0;                      // of the moving average of all weights; 0: none
};

/// A new run may begin with a last layer that is solved from the features of all samples.
struct HeadSettings {
    bool only = false;                 // solve it and end
    bool first = false;                // solve it, then train the whole network
    std::int64_t views = 1;            // of each training sample: as evaluated, then augmented ones
    std::optional<double> strength;    // of the L2 regularisation; empty: chosen by held-out loss
    std::optional<std::string> cache;  // file of the features; empty: in the run's folder

    bool solves() const { return only || first; }
};

/// The loss of a training that classifies.
struct LossSettings {
    std::string class_weights = {};    // "balanced", a file, or numbers; empty: none
    double focal_gamma = 0;            // of several labels; 0: cross entropy
    std::string teacher = {};          // a run or a file of weights; empty: none
    std::vector<double> distill = {};  // share of the teacher's loss, its temperature; empty: as below

    double teacher_share() const { return distill.empty() ? 0.5 : distill.at(0); }
    double teacher_temperature() const { return distill.empty() ? 4 : distill.at(1); }
};

struct CheckpointSettings : schedule::CheckpointTimes {
    std::int64_t keep = 0;                   // number of newest checkpoints to keep; 0: all
    bool in_f32 = false;                     // save 16-bit variables as f32
    bool all_instances = false;              // each process writes its own checkpoints
    bool trust_edited = false;               // accept checkpoints that another tool has changed
    std::vector<std::int64_t> mean_epochs;   // after training: average the checkpoints of the last N epochs, for each N
    std::vector<double> exponential_decays;  // after training: decay of each exponential average of all checkpoints
};

/// A result of a validation by which weights are compared.
enum class Metric : std::uint8_t { accuracy, balanced_accuracy, top_5, loss };
constexpr auto spellings(Metric) {
    return std::to_array<std::string_view>({"accuracy", "balanced-accuracy", "top-5", "loss"});
}

/// Settings of validation. Without times, it follows the training; with times, it takes place during the training.
struct ValidationSettings : schedule::ValidationTimes {
    bool enabled = true;
    std::optional<Metric> keep_best;  // keep the checkpoint that is best by this metric
    std::int64_t early_stop = 0;      // validations without a better result after which training ends; 0: never
};

struct DeviceSettings : nn::PrecisionSettings {
    backend::StochasticRounding stochastic_rounding = backend::StochasticRounding::on;  // not used in validation
    std::optional<std::int64_t> seed;
    /// IPUs: AUTO or the number of a device, or one of these for training and one for validation.
    std::vector<std::string> select_ipu = {"AUTO"};
    bool compile_only = false;
    bool dataset_benchmark = false;  // measure the input pipeline only
    bool latency = false;            // validation: measure the time from a batch's creation to its result
    bool analyse_nans = false;       // count NaNs in every checkpoint
};

/// Form of the report on standard output.
enum class LogFormat : std::uint8_t { text, json };
constexpr auto spellings(LogFormat) {
    return std::to_array<std::string_view>({"text", "json"});
}

struct LoggingSettings {
    bool verbose = false;  // a terminal shows as much as a pipe
    bool quiet = false;    // results, warnings and errors only
    LogFormat format = LogFormat::text;
    std::string log_dir;                   // parent of run folders
    std::optional<std::string> logs_path;  // exact path of the run folder
    bool overwrite = false;                // a new run may replace the one in logs_path
    std::optional<std::string> name_suffix;
    bool no_logs = false;
    bool all_instances = false;  // each process writes its own logs
    bool tensorboard = true;     // write event files next to the CSV files
    bool wandb = false;          // report to Weights & Biases
    std::string wandb_project;
    std::optional<std::string> wandb_id;  // restore: the W&B run to continue
    bool mlperf = false;                  // write result_<seed>.txt
    bool profile = false;                 // measure some updates of a training, and write where their time goes
    std::int64_t profile_steps = 10;      // how many
};

}  // namespace cnntrain::run

namespace cnntrain::options {

/// Base class of a task's own settings.
struct OwnSettings {
    virtual ~OwnSettings() = default;
};

/// Holds a task's own settings, with value semantics.
class TaskSettings {
public:
    TaskSettings() = default;
    template <std::derived_from<OwnSettings> T> explicit TaskSettings(T value)
        : value_(std::make_unique<T>(std::move(value))), copy_([](const OwnSettings& other) {
              return std::unique_ptr<OwnSettings>(std::make_unique<T>(static_cast<const T&>(other)));
          }) {}
    TaskSettings(const TaskSettings& other)
        : value_(other.value_ ? other.copy_(*other.value_) : nullptr), copy_(other.copy_) {}
    TaskSettings(TaskSettings&&) noexcept = default;
    TaskSettings& operator=(TaskSettings other) noexcept {
        value_ = std::move(other.value_);
        copy_ = other.copy_;
        return *this;
    }
    ~TaskSettings() = default;

    /// The settings as type T or as a base T of them. Error(internal) if they belong to another task.
    template <typename T> T& as() { return checked(dynamic_cast<T*>(value_.get())); }
    template <typename T> const T& as() const { return checked(dynamic_cast<const T*>(value_.get())); }

private:
    template <typename T> static T& checked(T* settings) {
        CNNTRAIN_CHECK(settings != nullptr, "these are not the settings of this task");
        return *settings;
    }

    std::unique_ptr<OwnSettings> value_;
    std::unique_ptr<OwnSettings> (*copy_)(const OwnSettings&) = nullptr;
};

/// Words of --select-ipu for any device with enough IPUs: AUTO, and -1 in arguments.json of the original programs.
constexpr bool is_any_ipu(std::string_view word) {
    return word == "AUTO" || word == "-1";
}

struct Settings {
    run::RunSettings run;
    run::MainSettings main;
    run::TrainingSettings training;
    run::HeadSettings head;
    run::LossSettings loss;
    optim::OptimiserSettings optimiser;
    run::CheckpointSettings checkpoint;
    run::ValidationSettings validation;
    run::DeviceSettings device;
    run::LoggingSettings logging;
    comm::CommSettings comm;
    backend::IpuSettings ipu;
    TaskSettings task;
};

}  // namespace cnntrain::options
