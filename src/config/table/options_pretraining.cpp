// Options of pretraining: its batches, optimiser and learning rate, stages, the machine.
#include "config/table/option.h"

namespace cnntrain::config {

namespace {

std::vector<Option> length_options() {
    return {
        {.flag = "--micro-batch-size",
         .type = Type::integer,
         .help = "Sequences per forward and backward pass of a replica.",
         .unit = "sequences",
         .range = between(1, 1e6),
         .commands = kP,
         .numerics = true,
         .bind = to<&Settings::training, &train::TrainingSettings::micro_batch_size>()},
        {.flag = "--gradient-accumulation-count",
         .type = Type::integer,
         .help = "Micro-batches per weight update of a replica; a multiple of twice the number of --pipeline-stages.",
         .range = between(1, 1e9),
         .commands = kP,
         .numerics = true,
         .bind = to<&Settings::training, &train::TrainingSettings::gradient_accumulation_count>()},
        {.flag = "--global-batch-size",
         .type = Type::integer,
         .help = "Sequences per weight update, instead of --gradient-accumulation-count; rounded up as "
                 "--pipeline-stages need it.",
         .unit = "sequences",
         .range = between(1, kMostIterations),
         .commands = kP},
        {.flag = "--replicas",
         .type = Type::integer,
         .fallback = std::int64_t{1},
         .help = "Data-parallel replicas in this process. They share one set of weights and one update: the numbers "
                 "are those of as many times the --gradient-accumulation-count.",
         .range = between(1, kMostReplicas),
         .commands = kP,
         .numerics = true,
         .bind = to<&Settings::training, &train::TrainingSettings::replicas>()},
        {.flag = "--num-train-steps",
         .type = Type::integer,
         .help = "Length of the run in weight updates; rounded down to a multiple of --device-iterations. --evaluate "
                 "needs none.",
         .unit = "steps",
         .range = between(0, kMostIterations),
         .commands = kP,
         .numerics = true,
         .bind = to<&Settings::training, &train::TrainingSettings::iterations>()},
        {.flag = "--device-iterations",
         .type = Type::integer,
         .fallback = std::int64_t{1},
         .help = "Weight updates with one learning rate, between which nothing is logged or saved.",
         .unit = "steps",
         .aliases = {{"--batches-per-step"}},
         .range = between(1, kMostIterations),
         .commands = kP,
         .numerics = true,
         .bind = to<&Settings::training, &train::TrainingSettings::device_iterations>()},
        {.flag = "--epochs",
         .type = Type::number,
         .help = "Length of a fine-tuning in epochs.",
         .range = between(0, kMostEpochs),
         .commands = kP,
         .idle = "--num-train-steps is the length of a pretraining"},
        {.flag = "--reduction-type",
         .type = Type::choice,
         .fallback = "mean",
         .help = "Whether the gradients of micro-batches and replicas are averaged or added.",
         .choices = {"mean", "sum"},
         .commands = kP,
         .numerics = true,
         .bind = {[](Settings& settings, const Value& value) {
             settings.optimiser.adds_micro_batches = value == Value(std::string("sum"));
         }}},
    };
}

constexpr std::string_view kPolynomial = "polynomial";    // other names of polynomial_decay and
constexpr std::string_view kExponential = "exponential";  // natural_exponential

void set_schedule(Settings& settings, const Value& value) {
    const std::string& text = std::get<std::string>(value);
    optim::StepRateSettings& rate = settings.step_rate;
    if (text == kPolynomial) {
        rate.schedule = optim::StepSchedule::polynomial;
    } else if (text == kExponential) {
        rate.schedule = optim::StepSchedule::natural_exponential;
    } else {
        rate.schedule = *named<optim::StepSchedule>(text);
    }
}

std::vector<std::string_view> schedule_names() {
    std::vector<std::string_view> all = names<optim::StepSchedule>();
    all.insert(all.end(), {kPolynomial, kExponential});
    return all;
}

std::vector<Option> rate_options() {
    return {
        {.flag = "--base-learning-rate",
         .type = Type::number,
         .fallback = 2e-5,
         .help = "Learning rate at the end of the warm-up.",
         .range = at_least(0),
         .commands = kP,
         .numerics = true,
         .bind = to<&Settings::step_rate, &optim::StepRateSettings::base>()},
        {.flag = "--lr-schedule",
         .type = Type::choice,
         .fallback = "polynomial_decay",
         .help = "How the learning rate falls after the warm-up: polynomial_decay and cosine_decay to 1e-7 at the end "
                 "of the run; natural_exponential at each of --decay-steps; custom: --lr-schedule-by-step alone.",
         .choices = schedule_names(),
         .commands = kP,
         .numerics = true,
         .bind = {set_schedule}},
        {.flag = "--lr-power",
         .type = Type::numbers,
         .fallback = std::vector<double>{1},
         .help = "Exponent of the warm-up and of the decay, or one for each.",
         .range = between(0, 1000),
         .commands = kP,
         .numerics = true,
         .bind = to<&Settings::step_rate, &optim::StepRateSettings::powers>()},
        {.flag = "--warmup",
         .type = Type::number,
         .fallback = 0.1,
         .help = "Steps in which the learning rate rises from 0; below 1: a share of all steps.",
         .range = between(0, kMostIterations),
         .commands = kP,
         .numerics = true,
         .bind = to<&Settings::step_rate, &optim::StepRateSettings::warmup>()},
        {.flag = "--lr-schedule-by-step",
         .type = Type::structure,
         .help = "custom: the learning rates and the steps from which on they hold: {\"0\": 0.001, \"100\": 0.0001}.",
         .commands = kP,
         .needs = {{"lr_schedule", {"custom"}}},
         .numerics = true},
        {.flag = "--decay-steps",
         .type = Type::integer,
         .fallback = std::int64_t{1},
         .help = "natural_exponential: steps between drops of the learning rate.",
         .unit = "steps",
         .range = between(1, kMostIterations),
         .commands = kP,
         .needs = {{"lr_schedule", {"natural_exponential", "exponential"}}},
         .numerics = true,
         .bind = to<&Settings::step_rate, &optim::StepRateSettings::decay_steps>()},
        {.flag = "--decay-rate",
         .type = Type::number,
         .fallback = 0.0,
         .help = "natural_exponential: r of the factor exp(-r) at each drop.",
         .range = between(0, 1e6),
         .commands = kP,
         .needs = {{"lr_schedule", {"natural_exponential", "exponential"}}},
         .numerics = true,
         .bind = to<&Settings::step_rate, &optim::StepRateSettings::decay_rate>()},
    };
}

const std::vector<Need>& adam_family() {
    static const std::vector<Need> needs = {{"optimizer", {"lamb", "adamw", "mpadamw"}}};
    return needs;
}

const std::vector<Need>& lamb_only() {
    static const std::vector<Need> needs = {{"optimizer", {"lamb"}}};
    return needs;
}

void set_optimiser(Settings& settings, const Value& value) {
    const std::string& text = std::get<std::string>(value);
    optim::Optimiser& kind = settings.optimiser.kind;
    kind = optim::Optimiser::sgd;
    if (text == "momentum") kind = optim::Optimiser::momentum;
    if (text == "adamw" || text == "mpadamw") kind = optim::Optimiser::adamw;
    if (text == "lamb") kind = optim::Optimiser::lamb;
}

std::vector<Option> optimiser_choice_options() {
    return {
        {.flag = "--optimizer",
         .type = Type::choice,
         .fallback = "momentum",
         .help = "Optimiser. adamw (mpadamw is the same here) scales the gradients of all weights down to a norm of at "
                 "most the number of replicas.",
         .choices = {"sgd", "momentum", "adamw", "lamb", "mpadamw", "adam", "custom"},
         .commands = kP,
         .numerics = true,
         .missing_choices = {"adam", "custom"},
         .missing_in = kP,
         .bind = {set_optimiser}},
        {.flag = "--momentum",
         .type = Type::number,
         .fallback = 0.984375,
         .help = "momentum: share of the last step that is done again.",
         .range = between(-1000, 1000),
         .commands = kP,
         .needs = {{"optimizer", {"momentum"}}},
         .numerics = true,
         .bind = to<&Settings::optimiser, &optim::OptimiserSettings::momentum>()},
        {.flag = "--beta1",
         .type = Type::number,
         .fallback = 0.9,
         .help = "adamw, lamb: decay of the mean of gradients.",
         .range = between(0, 1),
         .commands = kP,
         .needs = adam_family(),
         .numerics = true,
         .bind = to<&Settings::optimiser, &optim::OptimiserSettings::adam, &optim::AdamSettings::beta1>()},
        {.flag = "--beta2",
         .type = Type::number,
         .fallback = 0.999,
         .help = "adamw, lamb: decay of the mean of squared gradients.",
         .range = between(0, 1),
         .commands = kP,
         .needs = adam_family(),
         .numerics = true,
         .bind = to<&Settings::optimiser, &optim::OptimiserSettings::adam, &optim::AdamSettings::beta2>()},
        {.flag = "--epsilon",
         .type = Type::number,
         .fallback = 1e-4,
         .help = "adamw, lamb: what is added to the root of the mean of squares.",
         .range = at_least(0),
         .commands = kP,
         .needs = adam_family(),
         .numerics = true,
         .bind = to<&Settings::optimiser, &optim::OptimiserSettings::adam, &optim::AdamSettings::epsilon>()},
        {.flag = "--weight-decay-rate",
         .type = Type::number,
         .fallback = 0.0,
         .help = "adamw, lamb: weight decay. Biases and shifts of norms are left out, by adamw their scales, too.",
         .range = at_least(0),
         .commands = kP,
         .needs = adam_family(),
         .numerics = true,
         .bind = to<&Settings::optimiser, &optim::OptimiserSettings::weight_decay>()},
    };
}

std::vector<Option> optimiser_detail_options() {
    return {
        {.flag = "--use-debiasing",
         .fallback = false,
         .help = "adamw, lamb: correct the means for having begun at 0.",
         .commands = kP,
         .needs = adam_family(),
         .numerics = true},
        {.flag = "--use-nvlamb",
         .fallback = false,
         .help = "lamb: divide the gradients of all weights by their norm if that is above 1.",
         .commands = kP,
         .needs = lamb_only(),
         .numerics = true},
        {.flag = "--use-mpclip",
         .fallback = false,
         .help = "lamb: scale the gradients of all weights down to a norm of at most the number of replicas first.",
         .commands = kP,
         .needs = lamb_only(),
         .numerics = true},
        {.flag = "--loss-scaling",
         .type = Type::number,
         .fallback = 1.0,
         .help = "Factor on the loss that keeps small gradients of IEEE's 16 bits. Those of bf16 and f32 need none: a "
                 "power "
                 "of two changes no weight.",
         .range = at_least(std::numeric_limits<double>::min()),
         .commands = kP,
         .numerics = true,
         .bind = to<&Settings::optimiser, &optim::OptimiserSettings::loss_scaling>()},
        {.flag = "--loss-scaling-by-step",
         .type = Type::structure,
         .help = "Factors on the loss and the steps from which on they hold, in place of --loss-scaling: {\"0\": 512, "
                 "\"1000\": 1024}. Updates divide gradients by the factor again.",
         .commands = kP,
         .numerics = true},
        {.flag = "--increase-optimiser-precision",
         .fallback = false,
         .help = "lamb: the last product of the update in 32 bits.",
         .commands = kP,
         .idle = "updates are always computed in 32 bits"},
        {.flag = "--use-lr-fp32",
         .fallback = false,
         .help = "lamb: the learning rate in 32 bits.",
         .commands = kP,
         .idle = "it always is"},
        {.flag = "--weight-norm-clip",
         .type = Type::number,
         .fallback = 0.0,
         .help = "lamb: upper bound of a weight's norm.",
         .range = at_least(0),
         .commands = kP,
         .idle = "the original programs never read it"},
        {.flag = "--glue-dropout-prob",
         .type = Type::number,
         .fallback = 0.1,
         .help = "GLUE: dropout before the classes.",
         .range = between(0, 1),
         .commands = kP,
         .idle = "pretraining has no such layer"},
    };
}

std::vector<Option> stage_options() {
    return {
        {.flag = "--pipeline-stages",
         .type = Type::structure,
         .help = "What each stage of the pipeline computes: [[\"emb\", \"pos\"], [\"hid\", \"hid\"], [\"mlm\", "
                 "\"nsp\"]]. "
                 "Without it, there is one stage. All stages are in this process, and the numbers are the same; see "
                 "--lanes.",
         .commands = kP},
        {.flag = "--device-mapping",
         .type = Type::integers,
         .help = "Device of each stage; stages that share the table of words have the same one.",
         .range = between(0, kMostReplicas),
         .commands = kP,
         .needs = {{"pipeline_stages"}},
         .bind = to<&Settings::pretraining, &train::PretrainingSettings::device_mapping>()},
        {.flag = "--pipeline-schedule",
         .type = Type::choice,
         .fallback = "Interleaved",
         .help = "Order of forward and backward passes in the pipeline. Grouped: each stage does one of both at a "
                 "time. Interleaved: a stage does them in turn, with less memory. Sequential: one micro-batch after "
                 "the other. The numbers are the same.",
         .choices = names<schedule::PipelineSchedule>(),
         .commands = kP,
         .needs = {{"pipeline_stages"}},
         .bind = to<&Settings::training, &train::TrainingSettings::pipeline_schedule>()},
        {.flag = "--lanes",
         .type = Type::integer,
         .fallback = std::int64_t{1},
         .help =
             "Groups of cores that work side by side, each on its own stage or micro-batch, with an equal share of "
             "--threads; 0: one for each stage of a pipeline that is not Sequential, as far as there are threads. "
             "Stages of BERT are unequal: with 1, all cores work on each in turn, which is faster. Last bits follow "
             "the threads per lane, unless --thread-independent is given.",
         .range = between(0, kMostThreads),
         .commands = kP,
         .bind = to<&Settings::training, &train::TrainingSettings::lanes>()},
        {.flag = "--enable-recomputation",
         .fallback = false,
         .help = "Keep the results of whole layers only and compute the others again in the backward pass: less "
                 "memory for activations, about a third more time, the same results.",
         .aliases = {{"--enable_recomputation"}},
         .commands = kP,
         .bind = to<&Settings::training, &train::TrainingSettings::recomputation>()},
        {.flag = "--replicated-tensor-sharding",
         .fallback = false,
         .help = "Split the optimiser's state and its update over the processes.",
         .commands = kP,
         .needs_processes = true,
         .bind = to<&Settings::comm, &comm::CommSettings::shard_optimiser>()},
        {.flag = "--max-cross-replica-sum-buffer-size",
         .type = Type::integer,
         .fallback = std::int64_t{10485760},
         .help = "Gradients that the processes of a run sum in one operation.",
         .unit = "bytes",
         .range = between(4, kMostBytes),
         .commands = kP,
         .needs_processes = true,
         .bind = to<&Settings::comm, &comm::CommSettings::bucket_bytes>()},
    };
}

void set_precision(Settings& settings, const Value& value) {
    const std::string& text = std::get<std::string>(value);
    nn::Precision& precision = settings.device.precision;
    if (text == "16") {
        precision = nn::Precision::p16_32;
    } else if (text == "32") {
        precision = nn::Precision::p32_32;
    } else {
        precision = *named<nn::Precision>(text);
    }
}

void set_rounding(Settings& settings, const Value& value) {
    settings.device.stochastic_rounding =
        std::get<bool>(value) ? backend::StochasticRounding::on : backend::StochasticRounding::off;
}

std::vector<Option> numerics_options() {
    return {
        {.flag = "--precision",
         .type = Type::choice,
         .fallback = "16",
         .help = "16: computed in at least 16 bits (--compute-type), with weights and their updates in 32 bits (the "
                 "same as 16.32). 32: everything in 32 bits. 16.16: weights in 16 bits, too, as on IPUs, with "
                 "--stochastic-rounding.",
         .choices = {"16", "32", "16.16", "16.32", "32.32"},
         .commands = kP,
         .numerics = true,
         .bind = {set_precision}},
        {.flag = "--compute-type",
         .type = Type::choice,
         .fallback = "auto",
         .help = "What --precision 16 computes in: auto is what this processor is fastest in (bf16 with AMX and on AMD "
                 "processors with AVX512-BF16, else f32).",
         .choices = names<nn::ComputeType>(),
         .commands = kP,
         .needs = {{"precision", {"16", "16.16", "16.32"}}},
         .bind = to<&Settings::device, &train::DeviceSettings::compute_type>()},
        {.flag = "--stochastic-rounding",
         .type = Type::boolean_value,
         .fallback = true,
         .help = "Stochastic rounding of 16-bit weights.",
         .commands = kP,
         .needs = {{"precision", {"16.16"}}},
         .numerics = true,
         .bind = {set_rounding}},
    };
}

std::vector<Option> memory_options() {
    return {
        {.flag = "--variable-offloading",
         .type = Type::boolean_value,
         .fallback = true,
         .help = "Keep the optimiser's state off the chip.",
         .commands = kP,
         .ipu_only = true},
        {.flag = "--available-memory-proportion",
         .type = Type::numbers,
         .fallback = std::vector<double>{0.23},
         .help = "Share of memory for products of matrices: one value, or one per device.",
         .range = between(0, 1),
         .commands = kP,
         .ipu_only = true},
        {.flag = "--partials-type",
         .type = Type::choice,
         .fallback = "half",
         .help = "What products of matrices are accumulated in.",
         .choices = {"half", "float"},
         .commands = kP,
         .ipu_only = true},
        {.flag = "--max-reduce-scatter-buffer-size",
         .type = Type::integer,
         .fallback = std::int64_t{0},
         .help = "Buffer that merges reduce-scatters.",
         .unit = "bytes",
         .range = between(0, kMostBytes),
         .commands = kP,
         .ipu_only = true},
        {.flag = "--scheduler",
         .type = Type::choice,
         .fallback = "CLUSTERING",
         .help = "Order of operations in the compiled program.",
         .choices = {"CHOOSE_BEST", "CLUSTERING", "POST_ORDER", "LOOK_AHEAD", "SHORTEST_PATH"},
         .commands = kP,
         .ipu_only = true},
        {.flag = "--recomputation-mode",
         .type = Type::choice,
         .fallback = "RecomputeAndBackpropagateInterleaved",
         .help = "How recomputation and the backward pass take turns.",
         .choices = {"Auto", "RecomputeThenBackpropagate", "RecomputeAndBackpropagateInterleaved"},
         .commands = kP,
         .ipu_only = true},
    };
}

std::vector<Option> switch_options() {
    return {
        {.flag = "--no-outlining",
         .type = Type::boolean_value,
         .fallback = false,
         .help = "Do not share code between equal parts of the program.",
         .commands = kP,
         .ipu_only = true},
        {.flag = "--ipu-replica-identical-seed",
         .type = Type::boolean_value,
         .fallback = false,
         .help = "The same device seed on all replicas.",
         .commands = kP,
         .ipu_only = true},
        {.flag = "--sync-replicas-independently",
         .fallback = false,
         .help = "Replicas wait for each other as late as they can.",
         .commands = kP,
         .ipu_only = true},
        {.flag = "--execution-profile",
         .fallback = false,
         .help = "Write a profile of the execution.",
         .commands = kP,
         .missing = "profiling",
         .missing_in = kP},
        {.flag = "--memory-profile",
         .fallback = false,
         .help = "Write a profile of the memory.",
         .commands = kP,
         .ipu_only = true},
        {.flag = "--profile-dir",
         .type = Type::text,
         .fallback = "./",
         .help = "Folder of profiles.",
         .commands = kP,
         .ipu_only = true},
        {.flag = "--progress-bar",
         .type = Type::choice,
         .fallback = "auto",
         .help = "Progress of the compilation.",
         .choices = {"auto", "true", "false"},
         .commands = kP,
         .ipu_only = true},
    };
}

std::vector<Option> joined(const std::vector<std::vector<Option>>& parts) {
    std::vector<Option> all;
    for (const std::vector<Option>& part : parts)
        all.insert(all.end(), part.begin(), part.end());
    return all;
}

}  // namespace

std::vector<Option> pretraining_options() {
    return joined({length_options(), rate_options(), optimiser_choice_options(), optimiser_detail_options(),
                   stage_options(), numerics_options()});
}

std::vector<Option> pretraining_ipu_options() {
    return joined({memory_options(), switch_options()});
}

}  // namespace cnntrain::config
