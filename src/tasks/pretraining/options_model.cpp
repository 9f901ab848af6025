// Options of pretraining: encoder, heads, data.
#include "tasks/pretraining/options.h"

namespace cnntrain::tasks {
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

/// GroupBERT's encoder. Its configurations are parsed and refused.
std::vector<Option> groupbert_options() {
    return {
        {.flag = "--groupbert",
         .help = "The encoder of GroupBERT.",
         .missing = "the encoder of GroupBERT: its grouped layers; configurations without groupbert in their names "
                    "are BERT's"},
        {.flag = "--groupbert-ffn-output-groups",
         .type = Type::integer,
         .fallback = std::int64_t{4},
         .help = "GroupBERT: groups of the feed-forward part's projection.",
         .range = kBertWidth,
         .idle = "only --groupbert reads it"},
        {.flag = "--groupbert-conv-kernel-size",
         .type = Type::integer,
         .fallback = std::int64_t{7},
         .help = "GroupBERT: width of the convolution.",
         .range = kBertWidth,
         .idle = "only --groupbert reads it"},
        {.flag = "--groupbert-conv-group-size",
         .type = Type::integer,
         .fallback = std::int64_t{16},
         .help = "GroupBERT: channels per group of the convolution.",
         .range = kBertWidth,
         .idle = "only --groupbert reads it"},
    };
}

}  // namespace

std::vector<Option> pretraining_model_options() {
    return concatenated({bert_size_options(), bert_layer_options(), head_options(), groupbert_options()});
}

std::vector<Option> pretraining_data_options() {
    return {
        {.flag = "--train-file",
         .type = Type::patterns,
         .left_open = true,
         .help =
             "TFRecord files of training sequences: names or patterns (*, ?, [...]), separated by blanks or commas. "
             "$NAME is replaced by the environment variable.",
         .main_in = kAll,
         .path = true,
         .expands = true,
         .bind = to<&PretrainingSettings::text, &data::PretrainingSettings::files>()},
        {.flag = "--valid-file",
         .type = Type::patterns,
         .help = "TFRecord files of held-out sequences for --evaluate and --validate-every, in the same form.",
         .main_in = kAll,
         .needs = {{"evaluate"}, {"validate_every"}, {"validate_every_updates"}},
         .path = true,
         .expands = true,
         .bind = to<&PretrainingSettings::held_out_files>()},
        refine(bert_length_option(),
               {.bind = to<&PretrainingSettings::text, &data::PretrainingSettings::sequence_length>()}),
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
         .help = "Several sequences in each row of --seq-length tokens instead of padding: those of files made with "
                 "--packed, or those of ordinary files, which are read and packed at the start. Each sequence sees "
                 "itself alone, so losses are those of the same sequences with padding. Batches, epochs and rates "
                 "count rows.",
         .main_in = kAll,
         .numerics = true,
         .bind = to<&PretrainingSettings::text, &data::PretrainingSettings::packed>()},
        {.flag = "--duplicate-factor",
         .help = "Times that each document stands in the files, with different masks; an epoch is 1/N of the records.",
         .range = between(1e-6, 1e6),
         .bind = to<&PretrainingSettings::duplicate_factor>()},
        refine(shared("--generated-data"),
               {.help = "Random sequences generated on the host.",
                .bind = to<&PretrainingSettings::text, &data::PretrainingSettings::generated>()}),
        refine(shared("--synthetic-data"), {.help = "The same; losses and accuracies are logged as 0.",
                                            .bind = to<&PretrainingSettings::synthetic>()}),
        refine(shared("--dataset-cache-gb"),
               {.help = "Memory for records, shared by the processes of a host; 0: leave caching to the system.",
                .bind = to<&PretrainingSettings::text, &data::PretrainingSettings::cache_gb>()}),
        {.flag = "--parallel-io-threads",
         .type = Type::integer,
         .fallback = std::int64_t{4},
         .help = "Number of files read in parallel.",
         .range = between(1, kMostIterations),
         .idle = "--input-threads sets the number of threads that prepare sequences"},
        {.flag = "--sloppy-parallel-interleave",
         .type = Type::boolean_value,
         .fallback = true,
         .help = "Interleave files in any order.",
         .idle = "the order depends on the seed alone"},
        {.flag = "--dataset-repeat",
         .type = Type::integer,
         .fallback = std::int64_t{1},
         .help = "Times that the files are read.",
         .range = between(0, kMostIterations),
         .idle = "the files are repeated until --num-train-steps are done"},
    };
}

}  // namespace cnntrain::tasks
