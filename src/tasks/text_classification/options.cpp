// All options of text classification: its own rows, and shared rows with its own defaults and help.
#include "tasks/text_classification/options.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/options/task_options.h"
#include "cnntrain/weights/hugging_face.h"
#include "tasks/bert/bert.h"
#include "tasks/task_table.h"

namespace cnntrain::tasks {
namespace {

std::vector<Option> main_text_options() {
    return shared({"--restore-path", "--help", "--repeat", "--total-batch-size", "--num-inference-thread",
                   "--force-recompile", "--tmp-execs", "--wandb-id"});
}

std::vector<Option> program_options() {
    return with_change(shared_run_options(), "--task", [](Option& row) {
        row.fallback = "text-classification";
        row.choices = task_names();
    });
}

std::vector<Option> text_model_options() {
    const std::vector<Option> layers = with_change(bert_layer_options(), "--hidden-act", [](Option& row) {
        row.fallback = "gelu_erf";
        row.help =
            "Activation of the encoder: gelu_erf, as in Google's and Hugging Face's checkpoints, or gelu, its "
            "approximation by tanh.";
        row.choices = {"gelu", "gelu_erf"};
    });
    return concatenated(
        {bert_size_options(), with_change(layers, "--layer-norm-epsilon", [](Option& row) { row.fallback = 1e-12; })});
}

std::vector<Option> file_options() {
    return {
        changed(shared("--data-dir"),
                [](Option& row) {
                    row.help =
                        "TSV or CSV file with one or two texts and a label in each row; a header line names the "
                        "columns. Inference needs no labels. See cnntrain help text-classification.";
                    row.bind = left_open(to<&TextSettings::text, &data::LabelledTextSettings::file>());
                }),
        {.flag = "--validation-file",
         .help = "File of the same format that is used for validation; without it, --validation-fraction is.",
         .commands = kTVE | kR,
         .main_in = kT | kV,
         .recorded = Recorded::taken,
         .names = Names::path,
         .bind = left_open(to<&TextSettings::validation_file>())},
        changed(shared("--validation-fraction"),
                [](Option& row) {
                    row.fallback = 0.1;
                    row.help =
                        "Share of each class in --data-dir that is held out for validation, the same in every run; "
                        "without --validation-file.";
                    row.range = between(1e-6, 0.9);
                    row.bind = to<&TextSettings::validation_fraction>();
                }),
        {.flag = "--vocab-file",
         .help = "Vocabulary of the WordPiece tokeniser: one word piece per line, or a tokenizer.json (default: the "
                 "vocab.txt or tokenizer.json next to --init-checkpoint).",
         .commands = kTVE | kR,
         .main_in = kTVE,
         .recorded = Recorded::taken,
         .names = Names::path,
         .bind = left_open(to<&TextSettings::text, &data::LabelledTextSettings::vocabulary_file>())},
        {.flag = "--do-lower-case",
         .type = Type::boolean_value,
         .help = "Convert texts to lower case and strip accents, as uncased vocabularies need (default: on, "
                 "unless a tokenizer.json or tokenizer_config.json next to the vocabulary says otherwise).",
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
         .help = "Name of the column of texts in the header line (default: the usual names).",
         .recorded = Recorded::taken,
         .bind = left_open(to<&TextSettings::text, &data::LabelledTextSettings::text_column>())},
        {.flag = "--pair-column",
         .help = "Name of the column of second texts; samples are then pairs.",
         .recorded = Recorded::taken,
         .bind = left_open(to<&TextSettings::text, &data::LabelledTextSettings::pair_column>())},
        {.flag = "--label-column",
         .help = "Name of the column of labels.",
         .recorded = Recorded::taken,
         .bind = left_open(to<&TextSettings::text, &data::LabelledTextSettings::label_column>())},
        changed(bert_length_option(),
                [](Option& row) {
                    row.help = "Length S of the sequences; longer texts lose their last tokens.";
                    row.range = between(5, 65536);
                    row.bind = to<&TextSettings::text, &data::LabelledTextSettings::sequence_length>();
                }),
    };
}

std::vector<Option> batch_options() {
    return {
        changed(shared("--micro-batch-size"),
                [](Option& row) {
                    row.fallback = std::int64_t{32};
                    row.help = "Texts per forward and backward pass of a replica.";
                    row.unit = "texts";
                    row.range = between(1, 1e6);
                }),
        shared("--gradient-accumulation-count"),
        changed(shared("--epochs"),
                [](Option& row) { row.help = "Length of the run (default: 3, without --iterations)."; }),
        changed(shared("--iterations"),
                [](Option& row) {
                    row.help =
                        "Length of the run in weight updates, instead of --epochs; inference: number of batches to "
                        "measure.";
                    row.aliases = {{"--num-train-steps"}};
                }),
        changed(shared("--init-path"),
                [](Option& row) {
                    row.flag = "--init-checkpoint";
                    row.help =
                        "Checkpoint to start from: of pretraining, of an earlier classification, or in Hugging Face's "
                        "layout. Sizes come from arguments.json or config.json in its folder; a head with other "
                        "classes is initialised anew.";
                    row.aliases = {{"--init-path"}};
                }),
        shared("--variable-filter"),
        changed(bert_classifier_dropout_option(), [](Option& row) { row.bind = to<&TextSettings::head_dropout>(); }),
    };
}

std::vector<Option> optimiser_options() {
    std::vector<Option> rows = concatenated({bert_rate_options(), bert_optimiser_options(), bert_optimiser_details()});
    rows = with_change(rows, "--optimizer", [](Option& row) {
        row.fallback = "adamw";
        row.help =
            "Optimiser: sgd, momentum, adamw (also mpadamw) or lamb. adamw limits the global norm of gradients to the "
            "number of replicas. lamb's trust ratio is 1 for every gamma, beta and bias.";
        row.choices = {"sgd", "momentum", "adamw", "lamb", "mpadamw"};
        row.missing.choices = {};
    });
    rows = with_change(rows, "--momentum", [](Option& row) { row.fallback = 0.9; });
    rows = with_change(rows, "--epsilon", [](Option& row) { row.fallback = 1e-6; });
    rows = with_change(rows, "--weight-decay-rate", [](Option& row) { row.fallback = 0.01; });
    return with_change(rows, "--use-debiasing", [](Option& row) {
        row.fallback = true;
        row.help = "adamw, lamb: do not correct the bias of means that start at 0.";
        row.off_switch = true;
    });
}

std::vector<Option> process_options() {
    std::vector<Option> rows = concatenated(
        {shared({"--ckpts-per-epoch", "--epochs-per-ckpt", "--ckpt-epochs-offset", "--ckpt-all-instances",
                 "--validation", "--weight-avg-N", "--weight-avg-exp", "--replicas"}),
         shared({"--max-cross-replica-buffer-size", "--comm-overlap", "--comm-wire", "--comm-route", "--comm-timeout",
                 "--pipeline", "--pipeline-splits", "--pipeline-schedule", "--lanes", "--shards", "--syncs-per-epoch",
                 "--epochs-per-sync", "--rts", "--min-remote-tensor-size"})});
    rows = with_change(rows, "--replicas", [](Option& row) {
        row.help =
            "Data-parallel replicas in this process, with one set of weights and one update. Results are those of "
            "--gradient-accumulation-count times the replicas.";
    });
    return with_change(rows, "--pipeline-splits", [](Option& row) {
        row.help =
            "Names of the first functions of stages 1, 2, ... (hid6), which follow stage 0; required with --pipeline. "
            "Functions: emb0, pos0, hid0, hid1, ..., glu0.";
    });
}

std::vector<Option> device_options() {
    const std::vector<Option> rows =
        shared({"--loss-scaling", "--enable-recomputation", "--seed", "--device-iterations", "--dataset-benchmark",
                "--compile-only", "--prefetch-depth", "--latency", "--analyse-nans", "--available-memory-proportion"});
    return with_change(with_change(rows, "--loss-scaling", [](Option& row) { row.fallback = 1.0; }),
                       "--device-iterations", [](Option& row) {
                           row.fallback = std::int64_t{1};
                           row.help =
                               "Weight updates per host step: they share a learning rate, and nothing is logged or "
                               "saved between them.";
                       });
}

std::vector<Option> logging_options() {
    return with_change(
        shared({"--log-dir", "--logs-path", "--overwrite", "--name-suffix", "--logs-per-epoch", "--log-freq",
                "--no-logs", "--log-all-instances", "--tensorboard", "--wandb", "--wandb-project", "--profile"}),
        "--wandb-project", [](Option& row) { row.fallback = "text-classification"; });
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

namespace {

// Reads options from files beside a checkpoint, written by a run or by another program.

/// Takes the options of the model from the checkpoint with which training starts: from a run's arguments.json, or from
/// the config.json of Hugging Face's transformers. A vocab.txt or tokenizer.json beside it is the default vocabulary.
void take_recorded_model(options::Resolution& run, const FileSystem& files);

/// Sets --do-lower-case and --split-special-tokens, unless they are set, from the files of transformers beside the
/// vocabulary. Without such files, special tokens are divided as in the original programs.
void choose_tokeniser(options::OptionValues& values, const FileSystem& files);

constexpr const char* kLowerCase = "do_lower_case";
constexpr const char* kSplitSpecialTokens = "split_special_tokens";

bool is_of_model_or_vocabulary(const Option& option) {
    constexpr std::string_view kKeys[] = {"vocab_file", kLowerCase, kSplitSpecialTokens};
    return is_of_model(option) || std::ranges::find(kKeys, key(option)) != std::end(kKeys);
}

Layer read_hugging_face_config(const FileSystem& files, const std::string& path) {
    const weights::BertConfig config = weights::parse_bert_config(read_text(files, path), path);
    const OptionSet& options = text_options();
    Layer layer;
    const auto set = [&](std::string_view name, Value value) { layer[&options.at(name)] = std::move(value); };
    const auto set_size = [&](std::string_view name, std::int64_t size) {
        if (size > 0) set(name, size);
    };
    set_size("vocab_size", config.sizes.vocabulary);
    set_size("hidden_size", config.sizes.hidden);
    set_size("num_hidden_layers", config.sizes.layers);
    set_size("num_attention_heads", config.heads);
    set_size("intermediate_size", config.sizes.intermediate);
    set_size("max_position_embeddings", config.sizes.positions);
    set_size("type_vocab_size", config.sizes.segment_types);
    set("hidden_act", std::string(config.exact_gelu ? "gelu_erf" : "gelu"));
    set("layer_norm_epsilon", config.norm_epsilon);
    set("hidden_dropout_prob", config.hidden_dropout);
    set("attention_probs_dropout_prob", config.attention_dropout);
    set("initializer_range", config.initializer_range);
    set("use_qkv_split", config.variables.qkv_split);
    set("use_qkv_bias", config.variables.qkv_bias);
    set("use_attention_projection_bias", config.variables.projection_bias);
    return layer;
}

void take_recorded_model(Resolution& run, const FileSystem& files) {
    const std::string checkpoint = run.settings().training.init_path.value_or("");
    if (checkpoint.empty()) return;
    if (const RecordedRun recorded = arguments_beside(files, checkpoint); !recorded.source.empty()) {
        take(run, recorded_options(recorded, text_options()), Source::model, is_of_model_or_vocabulary);
    } else if (const std::string config = file_beside(files, checkpoint, "config.json"); !config.empty()) {
        take(run, read_hugging_face_config(files, config), Source::model, is_of_model);
    }
    for (const char* name : {"vocab.txt", "tokenizer.json"}) {
        const std::string words = file_beside(files, checkpoint, name);
        if (!words.empty() && !run.values.is_set("vocab_file")) run.values.set("vocab_file", words, Source::model);
    }
}

void choose_tokeniser(OptionValues& values, const FileSystem& files) {
    if (!values.has(kSplitSpecialTokens)) return;
    const data::TokeniserFacts facts =
        data::tokeniser_facts(files, text_settings(values.settings()).text.vocabulary_file);
    const auto is_open = [&](std::string_view key) { return values.source(key) == Source::default_value; };
    if (facts.lower_case && is_open(kLowerCase)) values.set(kLowerCase, *facts.lower_case, Source::adjusted);
    if (!is_open(kSplitSpecialTokens)) return;
    // A run of an earlier version, which records no choice, divided them.
    const bool of_earlier_run = values.source("vocab_file") == Source::arguments;
    values.set(kSplitSpecialTokens, of_earlier_run || facts.splits_special_tokens, Source::adjusted);
}

Violation text_sizes_given(const Resolution& run) {
    std::vector<std::string> missing;
    for (const char* key :
         {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"}) {
        if (!run.values.is_set(key)) missing.emplace_back(run.values.option(key).flag);
    }
    if (missing.empty()) return {};
    return "the model's sizes are not known: give --init-checkpoint (or --restore-path) with an arguments.json or a "
           "config.json beside it, or " +
           listed(missing);
}

Violation texts_given(const Resolution& run) {
    if (!text_settings(run.settings()).text.file.empty()) return {};
    return "no texts: give --data-dir, a TSV or CSV file of texts and labels";
}

Violation vocabulary_given(const Resolution& run) {
    if (!text_settings(run.settings()).text.vocabulary_file.empty()) return {};
    return "no vocabulary: give --vocab-file, the vocabulary with which the model was trained";
}

Violation length_fits(const Resolution& run) {
    const std::int64_t length = text_settings(run.settings()).text.sequence_length;
    const std::int64_t positions = text_settings(run.settings()).model.positions;
    if (length <= positions) return {};
    return "--seq-length " + std::to_string(length) + " is longer than the model's table of " +
           std::to_string(positions) + " positions; give --seq-length " + std::to_string(positions) + " or less";
}

const std::vector<Rule> kTextRules = {
    {kTVE, texts_given},
    {kTVE, vocabulary_given},
    {kTVE, length_fits},
};

}  // namespace

void fill_text_options(Resolution& run) {
    take_recorded_model(run, posix_files());
    choose_tokeniser(run.values, posix_files());
    if (trains(run) && !run.values.is_set("epochs") && !run.values.is_set("iterations"))
        run.values.set("epochs", 3.0, Source::model);
}

void check_text_options(Resolution& run) {
    if (run.command == Command::restore) return;  // the run's own options are checked when they are read
    if (Violation missing = text_sizes_given(run); !missing.empty()) {
        run.violations.push_back(std::move(missing));  // the other rules need sizes
        return;
    }
    check_rules(kTextRules, run);
    check_rules(bert_model_rules(), run);
    if (trains(run)) check_rules(bert_rate_rules(), run);
}

void complete_text_settings(Settings& settings, Resolution& run) {
    if (run.command == Command::restore) return;
    TextSettings& own = settings.task.as<TextSettings>();
    settle_bert(settings);
    own.text.vocabulary_size = bert_words_in_files(own.model.vocabulary);
    own.text.type_vocabulary = own.model.segment_types;
}

}  // namespace cnntrain::tasks
