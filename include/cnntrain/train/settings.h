// Settings of a run as a whole: machine, weights, checkpoints, measurements, logs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/backend/settings.h"
#include "cnntrain/nn/settings.h"
#include "cnntrain/schedule/settings.h"

namespace cnntrain::train {

/// How the run uses this machine.
struct RunSettings {
    backend::BackendKind backend = backend::BackendKind::cpu;
    std::int64_t threads = 0;                    // compute threads; 0: all cores of the process
    bool thread_independent = false;             // results do not depend on the number of compute threads
    std::int64_t input_threads = 0;              // threads that prepare samples; 0: chosen by the loader
    std::optional<std::int64_t> prefetch_depth;  // micro-batches prepared ahead; empty: chosen by the loader
    bool stop_on_nan = true;                     // stop with Error(diverged) at the first non-finite loss
};

struct MainSettings {
    bool trains = true;                 // false: only evaluates
    std::optional<std::string> config;  // configuration name
    /// train, restore: folder of the run to resume; validation: checkpoint file or folder.
    std::optional<std::string> restore_path;
    bool accept_other_data = false;                // restore: the data need not be those that the run began with
    std::int64_t repeat = 1;                       // validation: runs per checkpoint
    std::int64_t inference_threads = 1;            // inference: requests in flight
    std::string predictions = {};                  // inference: their file; empty: predictions.csv in the run's folder
    std::int64_t top_classes = 5;                  // inference: number of classes in a prediction
    bool force_recompile = false;                  // inference: ignore an existing compiled model
    bool temporary_executable = false;             // inference: remove the compiled model at the end
    std::optional<std::int64_t> total_batch_size;  // validation: global batch of the training run
};

struct TrainingSettings : schedule::ScheduleSettings {
    std::vector<std::int64_t> device_mapping;  // device of each pipeline stage; empty: chosen
    bool recomputation = false;                // of activations, in the backward pass
    std::optional<std::string> init_path;      // checkpoint with the initial weights
    std::int64_t syncs_per_epoch = 0;          // broadcasts of the weights to all processes
    double epochs_per_sync = 0.0;              // epochs between broadcasts, if > 0
};

struct CheckpointSettings : schedule::CheckpointTimes {
    std::int64_t keep = 0;                   // number of newest checkpoints to keep; 0: all
    bool in_f32 = false;                     // save 16-bit variables as f32
    bool all_instances = false;              // each process writes its own checkpoints
    bool trust_edited = false;               // accept checkpoints that another tool has changed
    std::vector<std::int64_t> mean_epochs;   // after training: average the checkpoints of the last N epochs, for each N
    std::vector<double> exponential_decays;  // after training: decay of each exponential average of all checkpoints
};

struct ValidationSettings {
    bool enabled = true;  // validate after training
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

struct LoggingSettings {
    std::string log_dir;                   // parent of run folders
    std::optional<std::string> logs_path;  // exact path of the run folder
    bool overwrite = false;                // a new run may replace the one in logs_path
    std::optional<std::string> name_suffix;
    bool no_logs = false;
    bool all_instances = false;  // each process writes its own logs
    bool tensorboard = true;     // write event files beside the CSV files
    bool wandb = false;          // report to Weights & Biases
    std::string wandb_project;
    std::optional<std::string> wandb_id;  // restore: the W&B run to continue
    bool mlperf = false;                  // write result_<seed>.txt
};

}  // namespace cnntrain::train
