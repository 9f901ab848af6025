// All options of pretraining: shared rows and its own.
#include "tasks/pretraining/options.h"

namespace cnntrain::tasks {

const OptionSet& pretraining_options() {
    const auto rows = [](std::string_view flags) { return for_one_command(shared_rows(flags)); };
    static const OptionSet options({
        {"Main", concatenated({rows("--help --config --wandb-id"), for_one_command(pretraining_main_options())})},
        {kThisProgram, rows("--help-all --backend --threads --thread-independent --input-threads --stop-on-nan "
                            "--checkpoint-dtype --trust-edited-checkpoint --accept-other-data --verbose --quiet "
                            "--log-format --profile-steps --dry-run --print-config --validate-every "
                            "--validate-every-updates --keep-best --early-stop --ema-decay --ema")},
        {kModelGroup, for_one_command(pretraining_model_options())},
        {"Data", for_one_command(pretraining_data_options())},
        {"Training", concatenated({for_one_command(pretraining_training_options()),
                                   rows("--comm-overlap --comm-wire --comm-route --comm-timeout "
                                        "--min-remote-tensor-size")})},
        {"Device", concatenated({rows("--seed --dataset-benchmark --compile-only --prefetch-depth --select-ipu "
                                      "--fp-exceptions"),
                                 for_one_command(pretraining_ipu_options())})},
        {"Logging", concatenated({rows("--logs-path --overwrite --no-logs --tensorboard --wandb"),
                                  for_one_command(pretraining_logging_options())})},
    });
    return options;
}

// Options of pretraining: encoder, heads, data.

namespace {

/// Options of the heads after the encoder.
std::vector<Option> head_options() {
    return {
        {.flag = "--use-cls-layer",
         .type = Type::boolean_value,
         .help = "Dense layer, activation and norm between the encoder and the scores of masked words.",
         .numerics = true,
         .bind = to<&BertTaskSettings::model, &nn::BertSettings::cls_layer>()},
        {.flag = "--use-prediction-bias",
         .type = Type::boolean_value,
         .help = "Bias of each word in the scores of masked words.",
         .numerics = true,
         .bind = to<&BertTaskSettings::model, &nn::BertSettings::prediction_bias>()},
        {.flag = "--disable-acc",
         .help = "Do not count correct predictions; accuracies are logged as nan.",
         .bind = to_opposite<&BertTaskSettings::model, &nn::BertSettings::counts_correct>()},
    };
}

}  // namespace

std::vector<Option> pretraining_model_options() {
    return concatenated({bert_size_options(), bert_layer_options(), head_options()});
}

std::vector<Option> pretraining_data_options() {
    return {
        {.flag = "--train-file",
         .type = Type::patterns,
         .help = "TFRecord files of training sequences: names or patterns (*, ?, [...]), separated by blanks or "
                 "commas. $NAME is replaced by the environment variable.",
         .main_in = kAll,
         .names = Names::expanded_path,
         .bind = left_open(to<&PretrainingSettings::text, &data::PretrainingSettings::files>())},
        {.flag = "--valid-file",
         .type = Type::patterns,
         .help = "TFRecord files of held-out sequences for --evaluate and --validate-every, in the same form.",
         .main_in = kAll,
         .acts = {.needs = {{"evaluate"}, {"validate_every"}, {"validate_every_updates"}}},
         .names = Names::expanded_path,
         .bind = to<&PretrainingSettings::held_out_files>()},
        changed(bert_length_option(),
                [](Option& row) {
                    row.bind = to<&PretrainingSettings::text, &data::PretrainingSettings::sequence_length>();
                }),
        {.flag = "--max-predictions-per-seq",
         .type = Type::integer,
         .fallback = std::int64_t{20},
         .help = "Maximum number of masked tokens in a sequence, or in a row of --packed: --mask-tokens of the files.",
         .unit = "tokens",
         .range = between(1, 65536),
         .numerics = true,
         .bind = to<&PretrainingSettings::text, &data::PretrainingSettings::max_predictions>()},
        {.flag = "--static-mask",
         .help = "Sequences begin with their masked tokens (files made with --remask).",
         .numerics = true,
         .bind = to<&PretrainingSettings::text, &data::PretrainingSettings::static_mask>()},
        {.flag = "--packed",
         .fallback = false,
         .help =
             "Several sequences in each row of --seq-length tokens instead of padding: those of files made with "
             "--packed, or those of ordinary files, which are read and packed at the start. Each sequence sees itself "
             "alone, so losses are those of the same sequences with padding. Batches, epochs and rates count rows.",
         .main_in = kAll,
         .numerics = true,
         .bind = to<&PretrainingSettings::text, &data::PretrainingSettings::packed>()},
        {.flag = "--duplicate-factor",
         .help = "Times that each document stands in the files, with different masks; an epoch is 1/N of the records.",
         .range = between(1e-6, 1e6),
         .bind = to<&PretrainingSettings::duplicate_factor>()},
        changed(shared("--generated-data"),
                [](Option& row) {
                    row.help = "Random sequences generated on the host.";
                    row.bind = to<&PretrainingSettings::text, &data::PretrainingSettings::generated>();
                }),
        changed(shared("--synthetic-data"),
                [](Option& row) {
                    row.help = "The same; losses and accuracies are logged as 0.";
                    row.bind = to<&PretrainingSettings::synthetic>();
                }),
        shared("--dataset-cache-gb"),
        {.flag = "--parallel-io-threads",
         .type = Type::integer,
         .fallback = std::int64_t{4},
         .help = "Number of files read in parallel.",
         .range = between(1, kMostIterations),
         .acts = {.never = "--input-threads sets the number of threads that prepare sequences"}},
        {.flag = "--sloppy-parallel-interleave",
         .type = Type::boolean_value,
         .fallback = true,
         .help = "Interleave files in any order.",
         .acts = {.never = "the order depends on the seed alone"}},
        {.flag = "--dataset-repeat",
         .type = Type::integer,
         .fallback = std::int64_t{1},
         .help = "Times that the files are read.",
         .range = between(0, kMostIterations),
         .acts = {.never = "the files are repeated until --num-train-steps are done"}},
    };
}

// Options of pretraining: task, run folder, checkpoints, logs.

namespace {

std::vector<Option> run_folder_options() {
    return {
        {.flag = "--save-path",
         .fallback = "checkpoints",
         .help = "Folder in which run folders are created.",
         .main_in = kAll,
         .bind = to<&Settings::logging, &run::LoggingSettings::log_dir>()},
        changed(shared("--init-path"),
                [](Option& row) {
                    row.flag = "--init-checkpoint";
                    row.help = "Checkpoint to start from, with weights and optimiser state; steps count from 0.";
                    row.names = Names::expanded_path;
                }),
        changed(shared("--restore-path"),
                [](Option& row) {
                    row.flag = "--restore-dir";
                    row.help =
                        "Folder of the run to resume from its latest checkpoint; --init-checkpoint is then the "
                        "checkpoint with which it began.";
                    row.names = Names::expanded_path;
                }),
        {.flag = "--evaluate",
         .help = "Evaluate one checkpoint (--init-checkpoint) or all checkpoints of a run (--restore-dir) on "
                 "--valid-file. Options of the model and its sequences and --micro-batch-size come from the run's "
                 "arguments.json unless they are given; options of training are not needed.",
         .main_in = kAll,
         .bind = to<&PretrainingSettings::evaluates>()},
        {.flag = "--steps-per-ckpts",
         .help = "Steps between checkpoints; 0: only the first and the last.",
         .unit = "steps",
         .range = between(0, kMostIterations),
         .bind = to<&PretrainingSettings::steps_per_checkpoint>()},
        changed(shared("--keep-ckpts"),
                [](Option& row) {
                    row.flag = "--max-to-keep";
                    row.fallback = std::int64_t{5};
                }),
        {.flag = "--save-optimiser-to-checkpoint",
         .fallback = true,
         .help = "Save the optimiser's state in checkpoints.",
         .acts = {.never = "a run cannot be resumed without it; cnntrain convert leaves it out"}},
        {.flag = "--restore-optimiser-from-checkpoint",
         .fallback = true,
         .help = "Read the optimiser's state from checkpoints.",
         .acts = {.never = "the original programs never read it"}},
    };
}

}  // namespace

std::vector<Option> pretraining_main_options() {
    std::vector<Option> all = {
        changed(shared("--task"),
                [](Option& row) {
                    row.fallback = "pretraining";
                    row.help = "Task to run.";
                    row.choices = {"pretraining", "SQuAD", "GLUE"};
                    row.numerics = true;
                    row.missing.choices = {"SQuAD", "GLUE"};
                }),
    };
    const std::vector<Option> folder = run_folder_options();
    all.insert(all.end(), folder.begin(), folder.end());
    return all;
}

std::vector<Option> pretraining_logging_options() {
    return {
        {.flag = "--steps-per-logs",
         .help = "Steps between log lines; 0: only the first line.",
         .unit = "steps",
         .range = between(0, kMostIterations),
         .bind = to<&PretrainingSettings::steps_per_log>()},
        {.flag = "--steps-per-tensorboard",
         .help = "Steps between histograms of all variables in the event file, with norms as L2/<name>. From the "
                 "second on, a checkpoint is written, too. 0 or less: none.",
         .unit = "steps",
         .range = between(-1, kMostIterations),
         .bind = to<&PretrainingSettings::steps_per_histogram>()},
        {.flag = "--wandb-name",
         .type = Type::text,
         .help = "Name of the run at Weights & Biases.",
         .acts = {.needs = {{"wandb"}}, .never = "the name is that of the run's folder"}},
        changed(shared("--wandb-project"), [](Option& row) { row.fallback = "tf-bert"; }),
        changed(shared("--log-all-instances"),
                [](Option& row) {
                    row.flag = "--log-all-workers";
                    row.type = Type::boolean;
                    row.fallback = false;
                }),
        changed(shared("--log-dir"),
                [](Option& row) {
                    row.help = "Folder of logs.";
                    row.acts.never = "logs are in the run's folder, below --save-path";
                    row.bind = {};
                }),
        {.flag = "--name",
         .type = Type::text,
         .help = "Name of the run.",
         .acts = {.never = "the run's folder is named by task, optimiser and time"}},
        changed(shared("--name-suffix"),
                [](Option& row) {
                    row.help = "Suffix of the run's name.";
                    row.acts.never = "the run's folder is named by task, optimiser and time";
                    row.bind = {};
                }),
    };
}

// Options of pretraining: batches, optimiser, learning rate, pipeline stages, IPUs.

namespace {

std::vector<Option> length_options() {
    return {
        changed(shared("--micro-batch-size"),
                [](Option& row) {
                    row.help = "Sequences per forward and backward pass of a replica.";
                    row.aliases = {};
                    row.unit = "sequences";
                    row.range = between(1, 1e6);
                }),
        changed(shared("--gradient-accumulation-count"),
                [](Option& row) {
                    row.fallback = {};
                    row.bind = left_open(row.bind);
                    row.help =
                        "Micro-batches per weight update of a replica; a multiple of twice the number of "
                        "--pipeline-stages.";
                    row.aliases = {};
                }),
        {.flag = "--global-batch-size",
         .help = "Sequences per weight update, instead of --gradient-accumulation-count; rounded up to a multiple that "
                 "--pipeline-stages allow.",
         .unit = "sequences",
         .range = between(1, kMostIterations),
         .main_in = kAll,
         .bind = left_open(to<&PretrainingSettings::global_batch_size>())},
        changed(shared("--replicas"),
                [](Option& row) {
                    row.help =
                        "Data-parallel replicas in this process, with one set of weights and one update. Results are "
                        "those of --gradient-accumulation-count times the replicas.";
                }),
        changed(shared("--iterations"),
                [](Option& row) {
                    row.flag = "--num-train-steps";
                    row.help =
                        "Length of the run in weight updates, rounded down to a multiple of --device-iterations. Not "
                        "needed with --evaluate.";
                    row.unit = "steps";
                    row.aliases = {};
                }),
        changed(shared("--device-iterations"),
                [](Option& row) {
                    row.fallback = std::int64_t{1};
                    row.help =
                        "Weight updates per host step: they share a learning rate, and nothing is logged or saved "
                        "between them.";
                    row.unit = "steps";
                }),
        changed(shared("--epochs"),
                [](Option& row) {
                    row.help = "Length of fine-tuning in epochs.";
                    row.unit = "";
                    row.aliases = {};
                    row.acts.never = "--num-train-steps sets the length of pretraining";
                    row.numerics = false;
                    row.bind = {};
                }),
    };
}

std::vector<Option> loss_options() {
    return {
        changed(shared("--loss-scaling"),
                [](Option& row) {
                    row.fallback = 1.0;
                    row.help =
                        "Factor of the loss that keeps small gradients within the range of IEEE half. bf16 and f32 do "
                        "not need it; a power of two changes no weight.";
                }),
        changed(bert_classifier_dropout_option(),
                [](Option& row) {
                    row.range = between(0, 1);
                    row.acts.never = "pretraining has no such layer";
                    row.numerics = false;
                }),
    };
}

std::vector<Option> own_ipu_options() {
    return {
        changed(
            shared("--available-memory-proportion"),
            [](Option& row) {
                row.fallback = std::vector<double>{0.23};
                row.help =
                    "Share of each tile's memory for temporary data of matrix products: one value, or one per device.";
            }),
        changed(shared("--profile"),
                [](Option& row) {
                    row.flag = "--execution-profile";
                    row.help =
                        "Measure --profile-steps weight updates and write where their time goes to the run folder; "
                        "without --train-file, on generated data.";
                    row.aliases = {{"--profile"}};
                }),
    };
}

std::vector<Option> stage_options() {
    return {
        changed(shared("--pipeline-schedule"),
                [](Option& row) {
                    row.fallback = "Interleaved";
                    row.help =
                        "Order of forward and backward passes in the pipeline. Grouped: each stage does one of each at "
                        "a time. Interleaved: each stage alternates between them, with less memory. Sequential: one "
                        "micro-batch after the other. Results are the same.";
                    row.acts.needs = {{"pipeline_stages"}};
                }),
        changed(
            shared("--lanes"),
            [](Option& row) {
                row.fallback = std::int64_t{1};
                row.help =
                    "Groups of cores that work in parallel, each on its own stage or micro-batch, with an equal share "
                    "of --threads; 0: one per stage of a pipeline that is not Sequential, at most one per thread. "
                    "Stages of BERT take unequal times, so that 1, with all cores on one stage at a time, is faster. "
                    "The last bits of results depend on the threads per lane, unless --thread-independent is given.";
            }),
        changed(shared("--enable-recomputation"),
                [](Option& row) {
                    row.help =
                        "Keep the results of whole layers only and recompute all others in the backward pass: less "
                        "memory for activations, about a third more time, the same results.";
                    row.aliases = {{"--enable_recomputation"}};
                }),
        changed(shared("--rts"), [](Option& row) { row.flag = "--replicated-tensor-sharding"; }),
        changed(shared("--max-cross-replica-buffer-size"),
                [](Option& row) {
                    row.flag = "--max-cross-replica-sum-buffer-size";
                    row.help =
                        "Size of the gradients that the processes, or the replicas on IPUs, sum in one operation.";
                }),
    };
}

}  // namespace

std::vector<Option> pretraining_training_options() {
    return concatenated({length_options(), bert_rate_options(), bert_optimiser_options(), bert_optimiser_details(),
                         original_training_options(), loss_options(), original_stage_options(), stage_options(),
                         bert_numerics_options()});
}

std::vector<Option> pretraining_ipu_options() {
    return concatenated({original_ipu_options(), own_ipu_options()});
}

}  // namespace cnntrain::tasks
