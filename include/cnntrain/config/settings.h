// What a run does, as plain typed values. Filled by parse.h; every value that has a default is set,
// and std::optional stands only where "not given" means something to the reader.
//
// Units are in the names; an "epoch" is one pass over the training images, an "iteration" one weight update.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::config {

enum class BackendKind : std::uint8_t { cpu, ref, ipu };
enum class ModelFamily : std::uint8_t { resnet, resnext, efficientnet };
enum class Norm : std::uint8_t { batch, group };
/// First unit of a stage of two-conv blocks: 1x1 convolution, or every s-th pixel and zero channels.
enum class Shortcut : std::uint8_t { projection, zero_pad };
enum class Dataset : std::uint8_t { imagenet, cifar10, cifar100 };
/// real: files; generated: one random host image repeated; synthetic: made on the device, no host input.
enum class DataSource : std::uint8_t { real, generated, synthetic };
enum class Optimiser : std::uint8_t { sgd, rmsprop, momentum, lars };
enum class LrSchedule : std::uint8_t { stepped, cosine, exponential, polynomial };
/// Compute type . master-weight type; "16" is the backend's 16-bit type.
enum class Precision : std::uint8_t { p16_16, p16_32, p32_32 };
enum class StochasticRounding : std::uint8_t { on, on_prng_stable, ri_prng_stable, off };

/// The spelling used by flags, configurations and files: "resnet", "cifar-10", "16.32", "polynomial_decay_lr", ...
std::string_view name(BackendKind value);
std::string_view name(ModelFamily value);
std::string_view name(Dataset value);
std::string_view name(Optimiser value);
std::string_view name(LrSchedule value);
std::string_view name(Precision value);
std::string_view name(StochasticRounding value);

/// How this machine runs it.
struct RunSettings {
    BackendKind backend = BackendKind::cpu;
    std::int64_t threads = 0;        // compute threads, 0 = all cores of the process
    std::int64_t input_threads = 0;  // threads that prepare images, 0 = chosen by the loader
    bool stop_on_nan = true;         // stop with Error(diverged) at the first non-finite loss
};

struct MainSettings {
    std::optional<std::string> config;  // configuration name
    /// train, restore: folder of the run to resume; validation: checkpoint file or folder.
    std::optional<std::string> restore_path;
    std::int64_t repeat = 1;                       // validation: runs per checkpoint
    std::int64_t inference_threads = 1;            // inference: requests in flight
    bool force_recompile = false;                  // inference: do not use a compiled model that is there
    bool temporary_executable = false;             // inference: the compiled model is removed at the end
    std::optional<std::int64_t> total_batch_size;  // validation: global batch of the training run
};

struct ModelSettings {
    ModelFamily family = ModelFamily::resnet;
    std::string size;  // "50", "56b", "B4"
    Norm norm = Norm::batch;
    std::int64_t groups = 1;        // group norm only, else 1
    double batch_norm_decay = 0.0;  // of the moving averages
    Shortcut shortcut = Shortcut::projection;
    std::int64_t group_dim = 0;  // ResNeXt and EfficientNet: channels per group of a grouped convolution
    // ResNeXt only:
    std::int64_t convolution_groups = 0;
    bool widenet = false;  // CIFAR with the stage widths of ImageNet
    // EfficientNet only:
    std::optional<double> dropout_rate;  // empty: the size's
    double block_survival_prob = 0.0;    // drop-connect, of the deepest block
    bool no_squeeze_excite = false;
    std::int64_t depth_divisor = 0;  // of the channel counts
    std::int64_t top_width = 0;      // head channels before scaling
    bool use_relu = false;           // instead of swish
    bool proxy_norm = false;         // activations are standardised by their proxies
    double proxy_epsilon = 0.0;
    std::int64_t expand_ratio = 0;
    double norm_epsilon = 0.0;
    double width_coefficient = 0.0;  // 0: the size's
    double depth_coefficient = 0.0;  // 0: the size's
};

struct DataSettings {
    Dataset dataset = Dataset::imagenet;
    DataSource source = DataSource::real;
    std::string data_dir;         // empty unless source is real
    std::int64_t image_size = 0;  // pixels, height = width
    std::int64_t pipeline_num_parallel = 0;
    double cache_gb = 0;           // 1e9 bytes of RAM for encoded records, shared by the host's processes
    bool strict = false;           // an image that cannot be decoded ends the run
    bool normalise_input = false;  // ImageNet: mean and deviation; false: channel means only
    bool hostside_norm = false;    // normalise before the images reach the device
    bool train_with_valid_preprocessing = false;
    double mixup_alpha = 0;           // of Beta(alpha, alpha); 0: no mixup
    double cutmix_lambda = 1;         // 1: no cutmix
    std::int64_t cutmix_version = 1;  // 1, 2
    bool hostside_image_mixing = false;
    bool eight_bit_io = false;                   // images travel as uint8
    std::int64_t percentage_to_use = 100;        // of the ImageNet training files
    std::optional<std::int64_t> prefetch_depth;  // micro-batches prepared ahead
};

struct TrainingSettings {
    std::int64_t micro_batch_size = 1;             // samples per forward/backward of one replica
    std::int64_t gradient_accumulation_count = 1;  // micro-batches per weight update
    std::int64_t replicas = 1;
    std::int64_t shards = 1;                   // devices of a replica; above 1: one pipeline stage each
    bool pipeline = false;                     // the numbers are those of the same gradient accumulation without it
    std::vector<std::string> pipeline_splits;  // functions of the network that begin stages 2, 3, ...
    std::optional<std::int64_t> iterations;    // when set, the length of the run
    double epochs = 0.0;                       // the length of the run when `iterations` is not set
    Optimiser optimiser = Optimiser::sgd;
    double momentum = 0.0;
    double weight_decay = 0.0;
    std::vector<std::string> weight_decay_exclude;  // variables whose name contains one are not decayed
    double loss_scaling = 0.0;
    std::optional<double> rmsprop_decay;           // of the mean square, unless
    std::optional<double> rmsprop_base_decay_exp;  // it is 1 - 2^exponent * global batch
    double rmsprop_epsilon = 0.0;
    double lars_trust_scale = 0.0;
    double lars_weight_decay = 0.0;  // `weight_decay` comes on top
    double lars_epsilon = 0.0;
    std::vector<std::string> lars_skip;     // variables whose name contains one: no trust ratio, no lars_weight_decay
    bool offload_fp32_weight_copy = false;  // 16-bit weights have 32-bit masters in the optimiser
    double label_smoothing = 0.0;
    bool recomputation = false;                // of activations in the backward pass
    std::vector<std::string> variable_filter;  // train only variables whose name contains one; empty = all
    std::optional<std::string> init_path;      // checkpoint with the initial weights
};

/// Members of the schedules that are not selected keep their defaults.
struct LearningRateSettings {
    LrSchedule schedule = LrSchedule::stepped;
    double base_exponent = 0.0;             // lr0 = 2^exponent * global batch, unless
    std::optional<double> absolute;         // lr0 is given
    double warmup_epochs = 0.0;             // 0 = no warm-up
    double stepped_decay = 0.0;             // factor at each drop
    std::vector<double> stepped_fractions;  // of the run, where the drops are
    double exponential_decay_rate = 0.0;    // factor at each drop
    std::int64_t exponential_drops = 0;     // spread evenly over the epochs
    double polynomial_power = 0.0;
    double polynomial_end_ratio = 0.0;     // end lr = ratio * lr0, unless
    std::optional<double> polynomial_end;  // it is given
};

/// Learning rate of the schedule's plateau for a global batch (samples per weight update of all processes).
double base_learning_rate(const LearningRateSettings& settings, std::int64_t global_batch_size);

/// Decay of RMSprop's mean square. 0 when neither it nor the exponent is given.
double rmsprop_decay(const TrainingSettings& settings, std::int64_t global_batch_size);

struct CheckpointSettings {
    std::int64_t ckpts_per_epoch = 1;        // 0 = no checkpoints
    std::int64_t epochs_per_ckpt = 0;        // > 0 replaces ckpts_per_epoch
    std::int64_t ckpt_epochs_offset = 0;     // first epoch at which checkpoints count
    std::int64_t keep = 0;                   // newest checkpoints kept, 0 = all
    std::vector<std::int64_t> mean_epochs;   // after training: means of the checkpoints of the last so many epochs
    std::vector<double> exponential_decays;  // after training: exponential averages of all checkpoints
};

struct ValidationSettings {
    bool enabled = true;  // after training
};

struct DeviceSettings {
    Precision precision = Precision::p16_16;
    StochasticRounding stochastic_rounding = StochasticRounding::on;  // validation never uses it
    std::vector<std::string> force_weight_to_fp16;                    // name substrings of variables
    std::vector<std::string> force_weight_to_fp32;
    std::int64_t device_iterations = 1000;  // most iterations of one host step
    std::optional<std::int64_t> seed;
    bool compile_only = false;
    bool dataset_benchmark = false;  // time the input pipeline and stop
    bool latency = false;            // validation: measure the time from a batch's creation to its result
    bool analyse_nans = false;       // count the NaNs of every checkpoint
};

struct LoggingSettings {
    std::string log_dir;                   // parent of run folders
    std::optional<std::string> logs_path;  // exact run folder
    std::optional<std::string> name_suffix;
    std::int64_t logs_per_epoch = 16;  // when the run's length is in epochs
    std::int64_t log_freq = 500;       // iterations between log lines, when it is in iterations
    bool no_logs = false;
    bool tensorboard = true;  // event files beside the CSV files
    bool wandb = false;       // report to Weights & Biases
    std::string wandb_project;
    std::optional<std::string> wandb_id;  // restore: the W&B run to continue
    bool mlperf = false;                  // result_<seed>.txt
};

struct Settings {
    RunSettings run;
    MainSettings main;
    ModelSettings model;
    DataSettings data;
    TrainingSettings training;
    LearningRateSettings learning_rate;
    CheckpointSettings checkpoint;
    ValidationSettings validation;
    DeviceSettings device;
    LoggingSettings logging;
};

/// Name of a run's folder: `RN20_bs32_BN_16.16_3S9`. `random` is three characters of
/// [A-Z0-9] drawn by the caller.
std::string run_name(const Settings& settings, std::string_view random);

}  // namespace cnntrain::config
