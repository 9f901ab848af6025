// All options of text classification: its own rows, and shared rows with its own defaults and help.
#include "tasks/text_classification/options.h"

#include <algorithm>

#include "tasks/task_table.h"

namespace cnntrain::tasks {
namespace {

std::vector<Option> with_refinement(std::vector<Option> rows, std::string_view flag, const Refinement& change) {
    std::ranges::transform(rows, rows.begin(),
                           [&](const Option& row) { return row.flag == flag ? refine(row, change) : row; });
    return rows;
}

std::vector<Option> main_text_options() {
    return shared({"--restore-path", "--help", "--repeat", "--total-batch-size", "--num-inference-thread",
                   "--force-recompile", "--tmp-execs", "--wandb-id"});
}

std::vector<Option> program_options() {
    return with_refinement(shared_run_options(), "--task",
                           {.fallback = "text-classification", .choices = task_names()});
}

std::vector<Option> text_model_options() {
    const std::vector<Option> layers = with_refinement(
        bert_layer_options(), "--hidden-act",
        {.fallback = "gelu_erf",
         .help = "Activation of the encoder: gelu_erf, as in Google's and Hugging Face's checkpoints, or gelu, its "
                 "approximation by tanh.",
         .choices = std::vector<std::string_view>{"gelu", "gelu_erf"}});
    return concatenated({bert_size_options(), with_refinement(layers, "--layer-norm-epsilon", {.fallback = 1e-12})});
}

std::vector<Option> file_options() {
    return {
        refine(shared("--data-dir"),
               {.help = "TSV or CSV file with one or two texts and a label in each row; a header line names the "
                        "columns. Inference needs no labels. See cnntrain help text-classification.",
                .bind = to<&TextSettings::text, &data::LabelledTextSettings::file>()}),
        {.flag = "--validation-file",
         .left_open = true,
         .help = "File of the same format that is used for validation; without it, --validation-fraction is.",
         .commands = kTVE | kR,
         .main_in = kT | kV,
         .recorded = Recorded::taken,
         .path = true,
         .bind = to<&TextSettings::validation_file>()},
        refine(shared("--validation-fraction"),
               {.fallback = 0.1,
                .help = "Share of each class in --data-dir that is held out for validation, the same in every run; "
                        "without --validation-file.",
                .range = between(1e-6, 0.9),
                .bind = to<&TextSettings::validation_fraction>()}),
        {.flag = "--vocab-file",
         .left_open = true,
         .help = "Vocabulary of the WordPiece tokeniser, one word piece per line (default: the vocab.txt next to "
                 "--init-checkpoint).",
         .commands = kTVE | kR,
         .main_in = kTVE,
         .recorded = Recorded::taken,
         .path = true,
         .bind = to<&TextSettings::text, &data::LabelledTextSettings::vocabulary_file>()},
        {.flag = "--do-lower-case",
         .type = Type::boolean_value,
         .help = "Convert texts to lower case and strip accents, as uncased vocabularies need.",
         .numerics = true,
         .bind = to<&TextSettings::text, &data::LabelledTextSettings::lower_case>()},
        {.flag = "--split-special-tokens",
         .type = Type::boolean_value,
         .help = "Divide [SEP], [MASK] and the like that stand in texts, as the original programs do; --no- keeps each "
                 "as one token, as transformers does (default: --no- where a config.json, tokenizer.json or "
                 "tokenizer_config.json lies next to the vocabulary).",
         .numerics = true,
         .bind = to<&TextSettings::text, &data::LabelledTextSettings::splits_special_tokens>()},
    };
}

std::vector<Option> column_options() {
    return {
        {.flag = "--text-column",
         .left_open = true,
         .help = "Name of the column of texts in the header line (default: the usual names).",
         .recorded = Recorded::taken,
         .bind = to<&TextSettings::text, &data::LabelledTextSettings::text_column>()},
        {.flag = "--pair-column",
         .left_open = true,
         .help = "Name of the column of second texts; samples are then pairs.",
         .recorded = Recorded::taken,
         .bind = to<&TextSettings::text, &data::LabelledTextSettings::pair_column>()},
        {.flag = "--label-column",
         .left_open = true,
         .help = "Name of the column of labels.",
         .recorded = Recorded::taken,
         .bind = to<&TextSettings::text, &data::LabelledTextSettings::label_column>()},
        refine(bert_length_option(), {.help = "Length S of the sequences; longer texts lose their last tokens.",
                                      .range = between(5, 65536),
                                      .bind = to<&TextSettings::text, &data::LabelledTextSettings::sequence_length>()}),
    };
}

std::vector<Option> batch_options() {
    return {
        refine(shared("--micro-batch-size"), {.fallback = std::int64_t{32},
                                              .help = "Texts per forward and backward pass of a replica.",
                                              .unit = "texts",
                                              .range = between(1, 1e6)}),
        shared("--gradient-accumulation-count"),
        refine(shared("--epochs"), {.help = "Length of the run (default: 3, without --iterations)."}),
        refine(shared("--iterations"),
               {.help = "Length of the run in weight updates, instead of --epochs; inference: number of batches to "
                        "measure.",
                .aliases = std::vector<Alias>{{"--num-train-steps"}}}),
        refine(shared("--init-path"),
               {.flag = "--init-checkpoint",
                .help = "Checkpoint to start from: of pretraining, of an earlier classification, or in Hugging Face's "
                        "layout. Sizes come from arguments.json or config.json in its folder; a head with other "
                        "classes is initialised anew.",
                .aliases = std::vector<Alias>{{"--init-path"}}}),
        shared("--variable-filter"),
        refine(bert_classifier_dropout_option(), {.bind = to<&TextSettings::head_dropout>()}),
    };
}

std::vector<Option> optimiser_options() {
    std::vector<Option> rows = concatenated({bert_rate_options(), bert_optimiser_options(), bert_optimiser_details()});
    rows = with_refinement(rows, "--optimizer",
                           {.fallback = "adamw",
                            .help = "Optimiser: sgd, momentum, adamw (also mpadamw) or lamb. adamw limits the global "
                                    "norm of gradients to the number of replicas. lamb's trust ratio is 1 for every "
                                    "gamma, beta and bias.",
                            .choices = std::vector<std::string_view>{"sgd", "momentum", "adamw", "lamb", "mpadamw"},
                            .missing_choices = std::vector<std::string_view>()});
    rows = with_refinement(rows, "--momentum", {.fallback = 0.9});
    rows = with_refinement(rows, "--epsilon", {.fallback = 1e-6});
    rows = with_refinement(rows, "--weight-decay-rate", {.fallback = 0.01});
    return with_refinement(rows, "--use-debiasing",
                           {.fallback = true,
                            .help = "adamw, lamb: do not correct the bias of means that start at 0.",
                            .off_switch = true});
}

std::vector<Option> process_options() {
    std::vector<Option> rows = concatenated(
        {shared({"--ckpts-per-epoch", "--epochs-per-ckpt", "--ckpt-epochs-offset", "--ckpt-all-instances",
                 "--validation", "--weight-avg-N", "--weight-avg-exp", "--replicas"}),
         shared({"--max-cross-replica-buffer-size", "--comm-overlap", "--comm-wire", "--comm-route", "--comm-timeout",
                 "--pipeline", "--pipeline-splits", "--pipeline-schedule", "--lanes", "--shards", "--syncs-per-epoch",
                 "--epochs-per-sync", "--rts", "--min-remote-tensor-size"})});
    rows = with_refinement(rows, "--replicas",
                           {.help = "Data-parallel replicas in this process, with one set of weights and one update. "
                                    "Results are those of --gradient-accumulation-count times the replicas."});
    return with_refinement(rows, "--pipeline-splits",
                           {.help = "Names of the first functions of stages 1, 2, ... (hid6), which follow stage 0; "
                                    "required with --pipeline. Functions: emb0, pos0, hid0, hid1, ..., glu0."});
}

std::vector<Option> device_options() {
    const std::vector<Option> rows =
        shared({"--loss-scaling", "--enable-recomputation", "--seed", "--device-iterations", "--dataset-benchmark",
                "--compile-only", "--prefetch-depth", "--latency", "--analyse-nans", "--available-memory-proportion"});
    return with_refinement(
        with_refinement(rows, "--loss-scaling", {.fallback = 1.0}), "--device-iterations",
        {.fallback = std::int64_t{1},
         .help = "Weight updates per host step: they share a learning rate, and nothing is logged or saved between "
                 "them."});
}

std::vector<Option> logging_options() {
    return with_refinement(
        shared({"--log-dir", "--logs-path", "--overwrite", "--name-suffix", "--logs-per-epoch", "--log-freq",
                "--no-logs", "--log-all-instances", "--tensorboard", "--wandb", "--wandb-project", "--profile"}),
        "--wandb-project", {.fallback = "text-classification"});
}

}  // namespace

const OptionSet& text_options() {
    static const OptionSet options({
        {"Main", main_text_options()},
        {kThisProgram, program_options()},
        {kModelGroup, text_model_options()},
        {kTextsGroup, concatenated({file_options(), column_options()})},
        {"Training", concatenated({batch_options(), process_options()})},
        {options::kHeadGroup, shared({"--head-only", "--head-first", "--head-strength", "--feature-cache"})},
        {"Optimiser and learning rate", optimiser_options()},
        {"Device", concatenated({bert_numerics_options(), device_options()})},
        {"Logging", logging_options()},
    });
    return options;
}

}  // namespace cnntrain::tasks
