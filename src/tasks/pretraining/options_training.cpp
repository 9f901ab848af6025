// Options of pretraining: batches, optimiser, learning rate, pipeline stages, IPUs.
#include "tasks/pretraining/options.h"

namespace cnntrain::tasks {
namespace {

std::vector<Option> length_options() {
    return {
        refine(shared("--micro-batch-size"), {.help = "Sequences per forward and backward pass of a replica.",
                                              .unit = "sequences",
                                              .range = between(1, 1e6)}),
        refine(
            shared("--gradient-accumulation-count"),
            {.fallback = Value(),
             .help =
                 "Micro-batches per weight update of a replica; a multiple of twice the number of --pipeline-stages.",
             .aliases = std::vector<Alias>()}),
        {.flag = "--global-batch-size",
         .type = Type::integer,
         .help = "Sequences per weight update, instead of --gradient-accumulation-count; rounded up to a multiple that "
                 "--pipeline-stages allow.",
         .unit = "sequences",
         .range = between(1, kMostIterations),
         .main_in = kAll},
        refine(shared("--replicas"),
               {.help = "Data-parallel replicas in this process, with one set of weights and one update. Results are "
                        "those of --gradient-accumulation-count times the replicas."}),
        refine(
            shared("--iterations"),
            {.flag = "--num-train-steps",
             .help =
                 "Length of the run in weight updates, rounded down to a multiple of --device-iterations. Not needed "
                 "with --evaluate.",
             .unit = "steps",
             .aliases = std::vector<Alias>()}),
        refine(shared("--device-iterations"), {.fallback = std::int64_t{1},
                                               .help = "Weight updates per host step: they share a learning rate, and "
                                                       "nothing is logged or saved between them.",
                                               .unit = "steps"}),
        refine(shared("--epochs"), {.help = "Length of fine-tuning in epochs.",
                                    .unit = "",
                                    .aliases = std::vector<Alias>(),
                                    .idle = "--num-train-steps sets the length of pretraining",
                                    .numerics = false,
                                    .bind = Binding()}),
        {.flag = "--reduction-type",
         .type = Type::choice,
         .fallback = "mean",
         .help = "Average (mean) or add (sum) the gradients of micro-batches and replicas.",
         .choices = {"mean", "sum"},
         .numerics = true,
         .bind = {[](Settings& settings, const Value& value) {
             settings.optimiser.adds_micro_batches = value == Value(std::string("sum"));
         }}},
    };
}

std::vector<Option> optimiser_detail_options() {
    return {
        refine(shared("--loss-scaling"), {.fallback = 1.0,
                                          .help = "Factor of the loss that keeps small gradients within the range of "
                                                  "IEEE half. bf16 and f32 do not need "
                                                  "it; a power of two changes no weight."}),
        {.flag = "--loss-scaling-by-step",
         .type = Type::structure,
         .help = "First step and loss scaling of each part of the run, instead of --loss-scaling: {\"0\": 512, "
                 "\"1000\": 1024}. Updates divide gradients by the factor.",
         .numerics = true},
        {.flag = "--increase-optimiser-precision",
         .help = "lamb: compute the last product of the update in 32 bits.",
         .idle = "updates are always computed in 32 bits"},
        {.flag = "--use-lr-fp32",
         .help = "lamb: keep the learning rate in 32 bits.",
         .idle = "the learning rate always has 32 bits"},
        {.flag = "--weight-norm-clip",
         .type = Type::number,
         .fallback = 0.0,
         .help = "lamb: upper bound of a weight's norm.",
         .range = at_least(0),
         .idle = "the original programs never read it"},
        refine(bert_classifier_dropout_option(),
               {.range = between(0, 1), .idle = "pretraining has no such layer", .numerics = false}),
    };
}

std::vector<Option> stage_options() {
    return {
        {.flag = "--pipeline-stages",
         .type = Type::structure,
         .help = "Functions of each pipeline stage: [[\"emb\", \"pos\"], [\"hid\", \"hid\"], [\"mlm\", \"nsp\"]] "
                 "(default: one stage). All stages run in this process, in parallel with --lanes. Results are the "
                 "same."},
        {.flag = "--device-mapping",
         .left_open = true,
         .help = "Device of each stage. Stages that share the table of words have the same device.",
         .range = between(0, kMostReplicas),
         .needs = {{"pipeline_stages"}},
         .bind = to<&Settings::training, &train::TrainingSettings::device_mapping>()},
        refine(
            shared("--pipeline-schedule"),
            {.fallback = "Interleaved",
             .help = "Order of forward and backward passes in the pipeline. Grouped: each stage does one of each at a "
                     "time. Interleaved: each stage alternates between them, with less memory. Sequential: one "
                     "micro-batch after the other. Results are the same.",
             .needs = std::vector<Need>{{"pipeline_stages"}}}),
        refine(
            shared("--lanes"),
            {.fallback = std::int64_t{1},
             .help =
                 "Groups of cores that work in parallel, each on its own stage or micro-batch, with an equal share of "
                 "--threads; 0: one per stage of a pipeline that is not Sequential, at most one per thread. Stages of "
                 "BERT take unequal times, so that 1, with all cores on one stage at a time, is faster. The last bits "
                 "of results depend on the threads per lane, unless --thread-independent is given."}),
        refine(shared("--enable-recomputation"),
               {.help = "Keep the results of whole layers only and recompute all others in the backward pass: less "
                        "memory for activations, about a third more time, the same results.",
                .aliases = std::vector<Alias>{{"--enable_recomputation"}}}),
        refine(shared("--rts"), {.flag = "--replicated-tensor-sharding"}),
        refine(shared("--max-cross-replica-buffer-size"),
               {.flag = "--max-cross-replica-sum-buffer-size",
                .help = "Size of the gradients that the processes, or the replicas on IPUs, sum in one operation."}),
    };
}

void set_partials(Settings& settings, const Value& value) {
    settings.ipu.half_partials = std::get<std::string>(value) == "half";
}

std::vector<Option> memory_options() {
    return {
        {.flag = "--variable-offloading",
         .type = Type::boolean_value,
         .help = "Keep the optimiser's state off the chip.",
         .acts_on_backends = kIpu,
         .bind = to<&Settings::ipu, &backend::IpuSettings::offload_variables>()},
        refine(shared("--available-memory-proportion"),
               {.fallback = std::vector<double>{0.23},
                .help = "Share of each tile's memory for temporary data of matrix products: one value, or one per "
                        "device."}),
        {.flag = "--partials-type",
         .type = Type::choice,
         .fallback = "half",
         .help = "Type in which matrix products of halves are accumulated.",
         .choices = {"half", "float"},
         .acts_on_backends = kIpu,
         .numerics = true,
         .bind = Binding{set_partials}},
        {.flag = "--max-reduce-scatter-buffer-size",
         .type = Type::integer,
         .fallback = std::int64_t{0},
         .help = "Buffer that merges reduce-scatters.",
         .unit = "bytes",
         .range = between(0, kMostBytes),
         .acts_on_backends = kIpu,
         .idle_on_ipu = "the operations of the program are not merged"},
        {.flag = "--scheduler",
         .type = Type::choice,
         .fallback = "CLUSTERING",
         .help = "Order of operations in the compiled program.",
         .choices = {"CHOOSE_BEST", "CLUSTERING", "POST_ORDER", "LOOK_AHEAD", "SHORTEST_PATH"},
         .acts_on_backends = kIpu,
         .idle_on_ipu = "operations run in the order in which the network computes them"},
        {.flag = "--recomputation-mode",
         .type = Type::choice,
         .fallback = "RecomputeAndBackpropagateInterleaved",
         .help = "Order of recomputation and backward pass.",
         .choices = {"Auto", "RecomputeThenBackpropagate", "RecomputeAndBackpropagateInterleaved"},
         .acts_on_backends = kIpu,
         .idle_on_ipu = "each result is recomputed where the backward pass needs it"},
    };
}

std::vector<Option> switch_options() {
    return {
        {.flag = "--no-outlining",
         .type = Type::boolean_value,
         .help = "Do not share code between equal parts of the program.",
         .acts_on_backends = kIpu,
         .idle_on_ipu = "the program shares code between micro-batches only"},
        {.flag = "--ipu-replica-identical-seed",
         .type = Type::boolean_value,
         .help = "All replicas round stochastically with the same random numbers.",
         .acts_on_backends = kIpu,
         .replicas_suffice_on_ipu = true,
         .numerics = true,
         .bind = to<&Settings::ipu, &backend::IpuSettings::identical_replica_seeding>()},
        {.flag = "--sync-replicas-independently",
         .help = "Synchronise replicas as late as possible.",
         .acts_on_backends = kIpu,
         .replicas_suffice_on_ipu = true,
         .bind = to<&Settings::ipu, &backend::IpuSettings::sync_replicas_independently>()},
        refine(shared("--profile"),
               {.flag = "--execution-profile",
                .help = "Measure --profile-steps weight updates and write where their time goes to the run folder; "
                        "without --train-file, on generated data.",
                .aliases = std::vector<Alias>{{"--profile"}}}),
        {.flag = "--memory-profile",
         .help = "Write a profile of the memory.",
         .acts_on_backends = kIpu,
         .idle_on_ipu = "the emulator has no profile of memory"},
        {.flag = "--profile-dir",
         .type = Type::text,
         .fallback = "./",
         .help = "Folder of profiles.",
         .acts_on_backends = kIpu,
         .idle_on_ipu = "the emulator has no profile of memory"},
        {.flag = "--progress-bar",
         .type = Type::choice,
         .fallback = "auto",
         .help = "Progress of the compilation.",
         .choices = {"auto", "true", "false"},
         .acts_on_backends = kIpu,
         .idle_on_ipu = "the emulator has no compiler that takes time"},
    };
}

}  // namespace

std::vector<Option> pretraining_training_options() {
    return concatenated({length_options(), bert_rate_options(), bert_optimiser_options(), bert_optimiser_details(),
                         optimiser_detail_options(), stage_options(), bert_numerics_options()});
}

std::vector<Option> pretraining_ipu_options() {
    return concatenated({memory_options(), switch_options()});
}

}  // namespace cnntrain::tasks
