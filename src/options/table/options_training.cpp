// Shared options: the Training group.
#include "cnntrain/graph/optimiser.h"
#include "cnntrain/options/task_options.h"

namespace cnntrain::options {
namespace {

std::vector<Option> batch_and_length_options() {
    return {
        {.flag = "--micro-batch-size",
         .help = "Samples per forward and backward pass of a replica; without it, the model's.",
         .unit = "samples",
         .aliases = {{"--batch-size"}},
         .range = between(0, 1e6),
         .main_in = kTVE,
         .numerics = true,
         .recorded = Recorded::taken,
         .bind = left_open(to<&Settings::training, &run::TrainingSettings::micro_batch_size>())},
        {.flag = "--gradient-accumulation-count",
         .fallback = std::int64_t{1},
         .help = "Micro-batches per weight update.",
         .aliases = {{"--gradients-to-accumulate"}, {"--pipeline-depth"}},
         .range = between(1, 1e9),
         .acts = {.in = kT},
         .numerics = true,
         .bind = to<&Settings::training, &run::TrainingSettings::gradient_accumulation_count>()},
        {.flag = "--epochs",
         .help = "Length of the run; without it, the model's.",
         .unit = "epochs",
         .aliases = {{"--epoch"}},
         .range = between(0, kMostEpochs),
         .commands = kTVE | kR,
         .main_in = kT | kR,
         .acts = {.in = kT | kR},
         .numerics = true,
         .bind = left_open(to<&Settings::training, &run::TrainingSettings::epochs>())},
        {.flag = "--iterations",
         .help = "Length of the run in weight updates, instead of --epochs. In validation of generated or synthetic "
                 "data: batches per run.",
         .unit = "iterations",
         .aliases = {{"--num-train-steps"}},
         .range = between(0, kMostIterations),
         .commands = kTVE | kR,
         .main_in = kT | kE | kR,
         .numerics = true,
         .recorded = Recorded::ignored,
         .bind = to<&Settings::training, &run::TrainingSettings::iterations>()},
        {.flag = "--weight-decay",
         .help = "Coefficient of L2 weight decay; without it, the model's. Biases decay, too; gammas, betas and "
                 "EfficientNet's proxies on CIFAR only. With LARS it applies in addition to --lars-weight-decay.",
         .range = at_least(0),
         .acts = {.in = kT},
         .numerics = true,
         .bind = left_open(to<&Settings::optimiser, &optim::OptimiserSettings::weight_decay>())},
        {.flag = "--loss-scaling",
         .fallback = 128.0,
         .help = "Factor on the loss that prevents underflow of 16-bit gradients.",
         .range = at_least(std::numeric_limits<double>::min()),
         .acts = {.in = kT},
         .numerics = true,
         .bind = to<&Settings::optimiser, &optim::OptimiserSettings::loss_scaling>()},
        {.flag = "--gradient-mean-reduce-re",
         .type = Type::texts,
         .fallback = std::vector<std::string>{},
         .help = "Regular expressions of variables whose gradients are reduced by mean instead of sum.",
         .acts = {.on_backends = kIpu, .never_on_ipu = "updates divide the sums over replicas themselves"}},
        {.flag = "--variable-filter",
         .help = "Train only variables whose names contain one of these.",
         .acts = {.in = kT},
         .numerics = true,
         .bind = to<&Settings::optimiser, &optim::OptimiserSettings::variable_filter>()},
        {.flag = "--init-path",
         .help = "Checkpoint with the initial weights, or weights of torchvision, timm, Keras or TensorFlow.",
         .main_in = kT,
         .acts = {.in = kT},
         .numerics = true,
         .names = Names::path,
         .bind = to<&Settings::training, &run::TrainingSettings::init_path>()},
    };
}

std::vector<Option> checkpoint_options() {
    return {
        {.flag = "--ckpts-per-epoch",
         .help = "Checkpoints per epoch; 0: none, so no validation either.",
         .range = between(0, kMostIterations),
         .acts = {.in = kT},
         .bind = to<&Settings::checkpoint, &run::CheckpointSettings::ckpts_per_epoch>()},
        {.flag = "--epochs-per-ckpt",
         .help = "Epochs between checkpoints, instead of --ckpts-per-epoch.",
         .unit = "epochs",
         .range = between(0, kMostEpochs),
         .acts = {.in = kT},
         .bind = to<&Settings::checkpoint, &run::CheckpointSettings::epochs_per_ckpt>()},
        {.flag = "--ckpt-epochs-offset",
         .help = "Epoch from which checkpoints are counted.",
         .unit = "epochs",
         .range = between(0, kMostEpochs),
         .acts = {.in = kT},
         .bind = to<&Settings::checkpoint, &run::CheckpointSettings::ckpt_epochs_offset>()},
        {.flag = "--ckpt-all-instances",
         .type = Type::boolean_value,
         .help = "Every process writes checkpoints, to its own run folder.",
         .acts = {.in = kT, .processes = Processes::several},
         .bind = to<&Settings::checkpoint, &run::CheckpointSettings::all_instances>()},
        {.flag = "--validation",
         .help = "Do not validate after training.",
         .acts = {.in = kT},
         .off_switch = true,
         .bind = to<&Settings::validation, &run::ValidationSettings::enabled>()},
        {.flag = "--weight-avg-N",
         .help = "Average the weights of the checkpoints of the last N epochs, for each N.",
         .range = between(0, kMostEpochs),
         .acts = {.in = kT},
         .bind = left_open(to<&Settings::checkpoint, &run::CheckpointSettings::mean_epochs>())},
        {.flag = "--weight-avg-exp",
         .help = "Exponential averages of the checkpoints with these decays.",
         .range = between(0, 1),
         .acts = {.in = kT},
         .bind = left_open(to<&Settings::checkpoint, &run::CheckpointSettings::exponential_decays>())},
    };
}

std::vector<Option> parallel_options() {
    return {
        {.flag = "--shards",
         .help = "Devices per replica, one pipeline stage each: the number of --pipeline-splits plus one. 1: any "
                 "number of stages. All devices are in this process, and results are the same; see --lanes.",
         .range = between(1, kMostReplicas),
         .bind = to<&Settings::training, &run::TrainingSettings::shards>()},
        {.flag = "--replicas",
         .help = "Data-parallel replicas in this process. They share one set of weights and one update; results are "
                 "those of a --gradient-accumulation-count that is larger by this factor (but see --BN-span).",
         .range = between(1, kMostReplicas),
         .commands = kTVE | kR,
         .main_in = kR,
         .numerics = true,
         .recorded = Recorded::ignored,
         .bind = to<&Settings::training, &run::TrainingSettings::replicas>()},
        {.flag = "--max-cross-replica-buffer-size",
         .help = "Size of the gradient buckets that processes, or replicas on IPUs, sum in one operation. Processes "
                 "send buckets while the backward pass continues.",
         .unit = "bytes",
         .range = between(4, kMostBytes),
         .acts = {.in = kT, .on_backends = kCpu | kIpu, .processes = Processes::several_or_replicas},
         .bind = to<&Settings::comm, &comm::CommSettings::bucket_bytes>()},
        {.flag = "--comm-overlap",
         .help = "Sum gradients over the processes after the backward pass instead of during it. Results do not depend "
                 "on it.",
         .commands = kT,
         .acts = {.on_backends = kCpu, .processes = Processes::several},
         .off_switch = true,
         .bind = to<&Settings::comm, &comm::CommSettings::overlap>()},
        {.flag = "--comm-wire",
         .help = "Type in which gradients are sent between hosts (with --comm-route flat: between processes). bf16 "
                 "halves the bytes; sums stay in f32.",
         .commands = kT,
         .acts = {.processes = Processes::several},
         .numerics = true,
         .bind = to<&Settings::comm, &comm::CommSettings::wire>()},
        {.flag = "--comm-route",
         .help = "hierarchical: the processes of a host add gradients in shared memory, and one of them exchanges sums "
                 "with other hosts. flat: each process exchanges with all others.",
         .commands = kT,
         .acts = {.processes = Processes::several},
         .bind = to<&Settings::comm, &comm::CommSettings::route>()},
        {.flag = "--comm-timeout",
         .help = "Longest wait for another process; after that, the run ends with an error that names it.",
         .unit = "seconds",
         .range = between(1, 86400),
         .commands = kT | kV | kR,
         .acts = {.processes = Processes::several},
         .bind = to<&Settings::comm, &comm::CommSettings::timeout_seconds>()},
        {.flag = "--pipeline",
         .help = "Split the network into stages, which process the micro-batches of a weight update in turn "
                 "(--pipeline-schedule) or in parallel (--lanes). Results are those of --gradient-accumulation-count "
                 "alone.",
         .acts = {.in = kT},
         .bind = to<&Settings::training, &run::TrainingSettings::pipeline>()},
        {.flag = "--pipeline-splits",
         .help = "Names of the first functions of stages 1, 2, ... (stage1/unit3/relu), which follow stage 0; required "
                 "with --pipeline.",
         .aliases = {{"--pipeline-split"}},
         .acts = {.in = kT, .needs = {{"pipeline"}}},
         .bind = left_open(to<&Settings::training, &run::TrainingSettings::pipeline_splits>())},
        {.flag = "--pipeline-schedule",
         .fallback = "Grouped",
         .help = "Order of forward and backward passes in a pipeline of K stages. Grouped: each stage does one of each "
                 "at a time; --gradient-accumulation-count must be a multiple of 2K. Interleaved: each stage "
                 "alternates between them, with less memory; a multiple of K. Sequential: one micro-batch after the "
                 "other, with the least memory; any number. Results are the same.",
         .acts = {.in = kT, .needs = {{"pipeline"}}},
         .bind = to<&Settings::training, &run::TrainingSettings::pipeline_schedule>()},
        {.flag = "--lanes",
         .fallback = std::int64_t{0},
         .help = "Groups of cores that work in parallel, each on its own stage or micro-batch, with an equal share of "
                 "--threads; 0: one per stage of a pipeline that is not Sequential, at most one per thread; otherwise "
                 "1. Each further pipeline needs additional memory. The last bits of results depend on the threads per "
                 "lane, as on --threads, unless --thread-independent is given.",
         .range = between(0, kMostThreads),
         .commands = kT | kR,
         .acts = {.on_backends = kCpu},
         .bind = to<&Settings::training, &run::TrainingSettings::lanes>()},
        {.flag = "--sharding-exclude-filter",
         .type = Type::texts,
         .help = "Steered automatic sharding in old releases.",
         .acts = {.on_backends = kIpu, .never_on_ipu = "stages are chosen by --pipeline-splits only"}},
        {.flag = "--sharding-include-filter",
         .type = Type::texts,
         .help = "Steered automatic sharding in old releases.",
         .acts = {.on_backends = kIpu, .never_on_ipu = "stages are chosen by --pipeline-splits only"}},
        {.flag = "--distributed",
         .help = "Several workers described by TF_CONFIG.",
         .acts = {.in = kT},
         .missing = {.capability =
                         "workers described by TF_CONFIG (mpirun, srun and cnntrain poprun start several processes)"}},
        {.flag = "--syncs-per-epoch",
         .help = "Broadcasts of the weights per epoch, under poprun.",
         .range = between(0, kMostIterations),
         .acts = {.in = kT},
         .bind = to<&Settings::training, &run::TrainingSettings::syncs_per_epoch>()},
        {.flag = "--epochs-per-sync",
         .help = "Epochs between broadcasts of the weights, under poprun.",
         .unit = "epochs",
         .range = between(0, kMostEpochs),
         .acts = {.in = kT, .processes = Processes::several},
         .bind = to<&Settings::training, &run::TrainingSettings::epochs_per_sync>()},
        {.flag = "--rts",
         .help = "Split the optimiser's state and its update over the processes, or over the replicas on IPUs.",
         .acts = {.in = kT, .processes = Processes::several_or_replicas},
         .bind = to<&Settings::comm, &comm::CommSettings::shard_optimiser>()},
        {.flag = "--min-remote-tensor-size",
         .help = "Smallest state of an optimiser that is stored off the chip.",
         .unit = "bytes",
         .range = between(0, kMostBytes),
         .acts = {.in = kT, .on_backends = kIpu},
         .bind = to<&Settings::ipu, &backend::IpuSettings::min_remote_tensor_bytes>()},
    };
}

std::vector<std::string_view> rules_with_moments() {
    std::vector<std::string_view> names;
    for (const graph::UpdateRuleFacts& facts : graph::kUpdateRules) {
        if (optim::keeps_moments(facts.rule)) names.push_back(spelling(facts.rule));
    }
    return names;
}

std::vector<Option> optimiser_options() {
    std::vector<Option> rows = {
        {.flag = "--optimiser",
         .help = "Optimiser. RMSprop's mean square starts at 1, as in TensorFlow 1. AdamW and LAMB apply weight decay "
                 "to the weights directly, not through the gradient. AdamW, LAMB and nesterov need a learning rate. "
                 "LAMB's trust ratio is 1 for every gamma, beta and bias.",
         .main_in = kT,
         .acts = {.in = kT},
         .bind = to<&Settings::optimiser, &optim::OptimiserSettings::rule>()},
        {.flag = "--momentum",
         .fallback = 0.9,
         .help = "Momentum coefficient of momentum, nesterov, RMSprop and LARS.",
         .range = between(-1000, 1000),
         .acts = {.in = kT, .needs = {{"optimiser", {"momentum", "nesterov", "RMSprop", "LARS"}}}},
         .bind = to<&Settings::optimiser, &optim::OptimiserSettings::momentum>()},
        {.flag = "--rmsprop-decay",
         .help = "RMSprop: decay of the mean square.",
         .range = between(0, 1),
         .acts = {.in = kT, .needs = {{"optimiser", {"RMSprop"}}}},
         .bind = to<&Settings::optimiser, &optim::OptimiserSettings::rmsprop_decay>()},
        {.flag = "--rmsprop-base-decay-exp",
         .help = "RMSprop: N of the decay 1 - 2^N x global batch.",
         .range = kExponents,
         .acts = {.in = kT, .needs = {{"optimiser", {"RMSprop"}}}},
         .bind = to<&Settings::optimiser, &optim::OptimiserSettings::rmsprop_base_decay_exp>()},
        {.flag = "--rmsprop-epsilon",
         .help = "RMSprop: epsilon inside the square root.",
         .range = at_least(0),
         .acts = {.in = kT, .needs = {{"optimiser", {"RMSprop"}}}},
         .bind = to<&Settings::optimiser, &optim::OptimiserSettings::rmsprop_epsilon>()},
        {.flag = "--beta1",
         .help = "AdamW, LAMB: decay of the mean of gradients.",
         .range = between(0, 1),
         .acts = {.in = kT, .needs = {{"optimiser", rules_with_moments()}}},
         .bind = to<&Settings::optimiser, &optim::OptimiserSettings::adam, &optim::AdamSettings::beta1>()},
        {.flag = "--beta2",
         .help = "AdamW, LAMB: decay of the mean of squared gradients.",
         .range = between(0, 1),
         .acts = {.in = kT, .needs = {{"optimiser", rules_with_moments()}}},
         .bind = to<&Settings::optimiser, &optim::OptimiserSettings::adam, &optim::AdamSettings::beta2>()},
        {.flag = "--adam-epsilon",
         .help = "AdamW, LAMB: number added to the root of the mean of squared gradients.",
         .range = at_least(0),
         .acts = {.in = kT, .needs = {{"optimiser", rules_with_moments()}}},
         .bind = to<&Settings::optimiser, &optim::OptimiserSettings::adam, &optim::AdamSettings::epsilon>()},
        {.flag = "--offload-fp32-weight-copy",
         .help = "Keep 32-bit masters of 16-bit weights inside the optimiser.",
         .acts = {.in = kT},
         .bind = to<&Settings::optimiser, &optim::OptimiserSettings::fp32_weight_copy>()},
        {.flag = "--stable-norm",
         .fallback = false,
         .help = "Variances in the norms are means of squared deviations, instead of mean squares minus squared means.",
         .acts = {.on_backends = kIpu},
         .bind = to<&Settings::ipu, &backend::IpuSettings::stable_norm>()},
        {.flag = "--force-unstable-norm",
         .help = "EfficientNet on ImageNet: no --stable-norm, which is its default.",
         .acts = {.on_backends = kIpu}},
        {.flag = "--lars-epsilon",
         .help = "LARS: epsilon of the trust ratio.",
         .range = at_least(0),
         .acts = {.in = kT, .needs = {{"optimiser", {"LARS"}}}},
         .bind = to<&Settings::optimiser, &optim::OptimiserSettings::lars, &optim::LarsSettings::epsilon>()},
        {.flag = "--lars-skip-list",
         .fallback = std::vector<std::string>{"beta", "gamma", "bias"},
         .help = "LARS: variables whose names contain one of these have trust ratio 1 and no weight decay.",
         .acts = {.in = kT, .needs = {{"optimiser", {"LARS"}}}},
         .bind = to<&Settings::optimiser, &optim::OptimiserSettings::lars, &optim::LarsSettings::skip>()},
        {.flag = "--lars-weight-decay",
         .help = "LARS: its own weight decay; without it, the model's.",
         .acts = {.in = kT, .needs = {{"optimiser", {"LARS"}}}},
         .bind = left_open(
             to<&Settings::optimiser, &optim::OptimiserSettings::lars, &optim::LarsSettings::weight_decay>())},
        {.flag = "--lars-eeta",
         .help = "LARS: factor of the trust ratio.",
         .acts = {.in = kT, .needs = {{"optimiser", {"LARS"}}}},
         .bind = to<&Settings::optimiser, &optim::OptimiserSettings::lars, &optim::LarsSettings::trust_scale>()},
    };
    for (Option& row : rows)
        row.numerics = row.flag != "--force-unstable-norm";
    return rows;
}

}  // namespace

std::vector<Option> shared_training_options() {
    std::vector<Option> all;
    for (auto part : {batch_and_length_options(), checkpoint_options(), parallel_options(), optimiser_options()})
        all.insert(all.end(), part.begin(), part.end());
    return all;
}

}  // namespace cnntrain::options
