// Options of pretraining: the encoders and the data.
#include "tasks/pretraining/options.h"

namespace cnntrain::tasks {

namespace {

/// What is behind the encoder.
std::vector<Option> head_options() {
    return {
        {.flag = "--use-cls-layer",
         .type = Type::boolean_value,
         .fallback = true,
         .help = "A dense layer, an activation and a norm between the encoder and the scores of masked words.",
         .numerics = true,
         .bind = to<&BertTaskSettings::model, &nn::BertSettings::cls_layer>()},
        {.flag = "--use-prediction-bias",
         .type = Type::boolean_value,
         .fallback = true,
         .help = "A bias for each word in the scores of masked words.",
         .numerics = true,
         .bind = to<&BertTaskSettings::model, &nn::BertSettings::prediction_bias>()},
        {.flag = "--disable-acc",
         .fallback = false,
         .help = "Do not count how many predictions are right; the accuracies are logged as nan.",
         .bind = to_opposite<&BertTaskSettings::model, &nn::BertSettings::counts_correct>()},
    };
}

/// The other encoder. Its configurations are understood, and refused.
std::vector<Option> groupbert_options() {
    return {
        {.flag = "--groupbert",
         .fallback = false,
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
         .help = "GroupBERT: channels of a group of the convolution.",
         .range = kBertWidth,
         .idle = "only --groupbert reads it"},
    };
}

}  // namespace

std::vector<Option> pretraining_model_options() {
    return joined({bert_size_options(), bert_layer_options(), head_options(), groupbert_options()});
}

std::vector<Option> pretraining_data_options() {
    return {
        {.flag = "--train-file",
         .type = Type::patterns,
         .help =
             "TFRecord files of training sequences: names or patterns (*, ?, [...]), separated by blanks or commas; "
             "$NAME in them is a variable of the environment.",
         .path = true,
         .expands = true,
         .bind = to<&PretrainingSettings::text, &data::PretrainingSettings::files>()},
        {.flag = "--valid-file",
         .type = Type::patterns,
         .help = "TFRecord files of held-out sequences, by which --evaluate judges; likewise.",
         .needs = {{"evaluate"}},
         .path = true,
         .expands = true,
         .bind = to<&PretrainingSettings::held_out_files>()},
        refine(bert_length_option(),
               {.bind = to<&PretrainingSettings::text, &data::PretrainingSettings::sequence_length>()}),
        {.flag = "--max-predictions-per-seq",
         .type = Type::integer,
         .fallback = std::int64_t{20},
         .help = "Masked tokens that a sequence has at most: the --mask-tokens of its files.",
         .unit = "tokens",
         .range = between(1, 65536),
         .numerics = true,
         .bind = to<&PretrainingSettings::text, &data::PretrainingSettings::max_predictions>()},
        {.flag = "--static-mask",
         .fallback = false,
         .help = "The files have the masked tokens of a sequence in its first places (made with --remask).",
         .numerics = true,
         .bind = to<&PretrainingSettings::text, &data::PretrainingSettings::static_mask>()},
        {.flag = "--duplicate-factor",
         .type = Type::number,
         .fallback = 5.0,
         .help = "How often the files have every document, each time with other masks: an epoch is that part of them.",
         .range = between(1e-6, 1e6),
         .bind = to<&PretrainingSettings::duplicate_factor>()},
        refine(shared("--generated-data"),
               {.help = "Random sequences made on the host.",
                .bind = to<&PretrainingSettings::text, &data::PretrainingSettings::generated>()}),
        refine(shared("--synthetic-data"),
               {.help = "Likewise; losses and accuracies, which mean nothing, are logged as 0.",
                .bind = to<&PretrainingSettings::synthetic>()}),
        refine(shared("--dataset-cache-gb"),
               {.help = "Memory for records, shared by the processes of a host; 0: leave caching to the system.",
                .bind = to<&PretrainingSettings::text, &data::PretrainingSettings::cache_gb>()}),
        {.flag = "--parallel-io-threads",
         .type = Type::integer,
         .fallback = std::int64_t{4},
         .help = "Files read side by side.",
         .range = between(1, kMostIterations),
         .idle = "--input-threads says how many threads prepare sequences"},
        {.flag = "--sloppy-parallel-interleave",
         .type = Type::boolean_value,
         .fallback = true,
         .help = "Files are mixed in any order.",
         .idle = "the order depends on the seed alone"},
        {.flag = "--dataset-repeat",
         .type = Type::integer,
         .fallback = std::int64_t{1},
         .help = "Passes over the files.",
         .range = between(0, kMostIterations),
         .idle = "the files are read until --num-train-steps are done"},
    };
}

}  // namespace cnntrain::tasks
