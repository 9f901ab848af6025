// All options of text classification: its own, and what it says differently about those that it shares.
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

std::vector<Option> main_options() {
    return shared({"--restore-path", "--help", "--repeat", "--total-batch-size", "--num-inference-thread",
                   "--force-recompile", "--tmp-execs", "--wandb-id"});
}

std::vector<Option> program_options() {
    return with_refinement(shared_run_options(), "--task",
                           {.fallback = "text-classification", .choices = task_names()});
}

std::vector<Option> model_options() {
    const std::vector<Option> layers = with_refinement(
        bert_layer_options(), "--hidden-act",
        {.fallback = "gelu_erf",
         .help = "Activation of the encoder: gelu in its tanh form, or gelu_erf in its exact form, as in Google's and "
                 "Hugging Face's checkpoints.",
         .choices = std::vector<std::string_view>{"gelu", "gelu_erf"}});
    return joined({bert_size_options(), with_refinement(layers, "--layer-norm-epsilon", {.fallback = 1e-12})});
}

std::vector<Option> file_options() {
    return {
        refine(shared("--data-dir"),
               {.help = "File of texts and labels, TSV or CSV, one or two texts and a label in each row; a header line "
                        "names the columns. Inference: of texts without labels.",
                .bind = to<&TextSettings::text, &data::LabelledTextSettings::file>()}),
        {.flag = "--validation-file",
         .type = Type::text,
         .help = "File of the same kind by which the network is judged; without it, --validation-fraction.",
         .path = true,
         .bind = to<&TextSettings::validation_file>()},
        {.flag = "--validation-fraction",
         .type = Type::number,
         .fallback = 0.1,
         .help = "Share of each class in --data-dir that is not trained on but judged by, the same in every run; "
                 "without --validation-file.",
         .range = between(1e-6, 0.9),
         .numerics = true,
         .bind = to<&TextSettings::validation_fraction>()},
        {.flag = "--vocab-file",
         .type = Type::text,
         .help = "Vocabulary of the WordPiece tokeniser, a word piece in each line; without it, the vocab.txt beside "
                 "--init-checkpoint.",
         .path = true,
         .bind = to<&TextSettings::text, &data::LabelledTextSettings::vocabulary_file>()},
        {.flag = "--do-lower-case",
         .type = Type::boolean_value,
         .fallback = true,
         .help = "Texts in lower case and without accents: for vocabularies that are called uncased.",
         .numerics = true,
         .bind = to<&TextSettings::text, &data::LabelledTextSettings::lower_case>()},
    };
}

std::vector<Option> column_options() {
    return {
        {.flag = "--text-column",
         .type = Type::text,
         .help = "Column of the texts, by its name in the header line; without it, by the usual names.",
         .bind = to<&TextSettings::text, &data::LabelledTextSettings::text_column>()},
        {.flag = "--pair-column",
         .type = Type::text,
         .help = "Column of second texts: a sample is a pair then.",
         .bind = to<&TextSettings::text, &data::LabelledTextSettings::pair_column>()},
        {.flag = "--label-column",
         .type = Type::text,
         .help = "Column of the labels.",
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
        refine(shared("--epochs"), {.help = "Length of the run; without it and --iterations, 3."}),
        refine(shared("--iterations"),
               {.help = "Length of the run in weight updates, instead of --epochs; inference: batches to measure with.",
                .aliases = std::vector<Alias>{{"--num-train-steps"}}}),
        refine(shared("--init-path"),
               {.flag = "--init-checkpoint",
                .help = "Checkpoint to begin with: of a pretraining, of an earlier classification, or in Hugging "
                        "Face's layout. The model's sizes come from what stands beside it (arguments.json or "
                        "config.json); classes that are not those of the checkpoint begin anew.",
                .aliases = std::vector<Alias>{{"--init-path"}}}),
        shared("--variable-filter"),
        refine(bert_classifier_dropout_option(), {.bind = to<&TextSettings::head_dropout>()}),
    };
}

std::vector<Option> optimiser_options() {
    std::vector<Option> rows = joined({bert_rate_options(), bert_optimiser_options(), bert_optimiser_details()});
    rows = with_refinement(rows, "--optimizer", {.fallback = "adamw"});
    rows = with_refinement(rows, "--momentum", {.fallback = 0.9});
    rows = with_refinement(rows, "--epsilon", {.fallback = 1e-6});
    rows = with_refinement(rows, "--weight-decay-rate", {.fallback = 0.01});
    return with_refinement(rows, "--use-debiasing", {.fallback = true});
}

std::vector<Option> process_options() {
    std::vector<Option> rows =
        joined({shared({"--ckpts-per-epoch", "--epochs-per-ckpt", "--ckpt-epochs-offset", "--ckpt-all-instances",
                        "--validation", "--weight-avg-N", "--weight-avg-exp", "--replicas"}),
                shared({"--max-cross-replica-buffer-size", "--comm-overlap", "--comm-wire", "--comm-route",
                        "--comm-timeout", "--pipeline", "--pipeline-splits", "--pipeline-schedule", "--lanes",
                        "--shards", "--syncs-per-epoch", "--epochs-per-sync", "--rts", "--min-remote-tensor-size"})});
    rows = with_refinement(rows, "--replicas",
                           {.help = "Data-parallel replicas in this process. They share one set of weights and one "
                                    "update: the numbers are those of as many times the "
                                    "--gradient-accumulation-count."});
    return with_refinement(rows, "--pipeline-splits",
                           {.help = "Names of the first function of stages 1, 2, ... (hid6), after stage 0; needed "
                                    "with --pipeline. The functions: emb0, pos0, hid0, hid1, ..., glu0."});
}

std::vector<Option> device_options() {
    const std::vector<Option> rows =
        shared({"--loss-scaling", "--enable-recomputation", "--seed", "--device-iterations", "--dataset-benchmark",
                "--compile-only", "--prefetch-depth", "--latency", "--analyse-nans", "--available-memory-proportion"});
    return with_refinement(
        with_refinement(rows, "--loss-scaling", {.fallback = 1.0}), "--device-iterations",
        {.fallback = std::int64_t{1},
         .help = "Weight updates with one learning rate, between which nothing is logged or saved."});
}

std::vector<Option> logging_options() {
    return shared({"--log-dir", "--logs-path", "--overwrite", "--name-suffix", "--logs-per-epoch", "--log-freq",
                   "--no-logs", "--log-all-instances", "--tensorboard", "--wandb", "--wandb-project"});
}

}  // namespace

const OptionSet& text_options() {
    static const OptionSet options({
        {"Main", main_options()},
        {kThisProgram, program_options()},
        {kModelGroup, model_options()},
        {kTextsGroup, joined({file_options(), column_options()})},
        {"Training", joined({batch_options(), process_options()})},
        {"Optimiser and learning rate", optimiser_options()},
        {"Device", joined({bert_numerics_options(), device_options()})},
        {"Logging", logging_options()},
    });
    return options;
}

}  // namespace cnntrain::tasks
