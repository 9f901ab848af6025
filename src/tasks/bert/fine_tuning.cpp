#include "tasks/bert/fine_tuning.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/sets.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/weights.h"
#include "cnntrain/weights/checkpoint.h"
#include "cnntrain/weights/hugging_face.h"
#include "tasks/task_table.h"

namespace cnntrain::tasks {
namespace {

/// Rows that also have the names of the original programs: pairs of a flag and that name.
std::vector<Option> with_names(std::vector<Option> rows,
                               std::initializer_list<std::pair<std::string_view, std::string_view>> names) {
    for (const auto& [flag, name] : names)
        rows = with_change(std::move(rows), flag, [alias = name](Option& row) { row.aliases.push_back({alias}); });
    return rows;
}

std::vector<Option> own_run_options(std::string_view task) {
    const std::vector<Option> rows = with_change(shared_run_options(), "--task", [&](Option& row) {
        row.fallback = std::string(task);
        row.choices = task_names();
    });
    return with_names(rows, {{"--keep-ckpts", "--max-to-keep"}});
}

std::vector<Option> encoder_options() {
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

std::vector<Option> tokeniser_options() {
    return {
        {.flag = "--vocab-file",
         .help = "Vocabulary of the WordPiece tokeniser: one word piece per line, or a tokenizer.json (default: the "
                 "vocab.txt or tokenizer.json next to --init-checkpoint).",
         .commands = kTVE | kR,
         .main_in = kTVE,
         .recorded = Recorded::taken,
         .names = Names::expanded_path,
         .bind = left_open(to<&FineTuningSettings::vocabulary_file>())},
        {.flag = "--do-lower-case",
         .type = Type::boolean_value,
         .help = "Convert texts to lower case and strip accents, as uncased vocabularies need (default: on, "
                 "unless a tokenizer.json or tokenizer_config.json next to the vocabulary says otherwise).",
         .numerics = true,
         .bind = to<&FineTuningSettings::lower_case>()},
        {.flag = "--split-special-tokens",
         .type = Type::boolean_value,
         .help = "Divide [SEP], [MASK] and the like that stand in texts, as the original programs do; --no- keeps each "
                 "as one token, as transformers does (default: --no- where a config.json, tokenizer.json or "
                 "tokenizer_config.json lies next to the vocabulary).",
         .numerics = true,
         .bind = to<&FineTuningSettings::splits_special_tokens>()},
    };
}

std::vector<Option> own_batch_options(std::int64_t micro_batch_size) {
    return {
        changed(shared("--micro-batch-size"),
                [&](Option& row) {
                    row.fallback = micro_batch_size;
                    row.help =
                        "Samples per forward and backward pass of a replica; a training without it takes 8 to 32, by "
                        "the number of its samples.";
                    row.unit = "samples";
                    row.range = between(1, 1e6);
                }),
        shared("--gradient-accumulation-count"),
        changed(shared("--epochs"),
                [](Option& row) {
                    row.help =
                        "Length of the run; without it and --iterations, 3 to 50, by the number of samples and by "
                        "whether weights are pretrained.";
                }),
        changed(shared("--iterations"),
                [](Option& row) {
                    row.help =
                        "Length of the run in weight updates, instead of --epochs; inference: number of batches to "
                        "measure.";
                    row.aliases = {{"--num-train-steps"}, {"--num-iter"}};
                }),
        changed(shared("--init-path"),
                [](Option& row) {
                    row.flag = "--init-checkpoint";
                    row.help =
                        "Checkpoint to start from: of pretraining, of an earlier run of this task, or in Hugging "
                        "Face's layout. Sizes come from arguments.json or config.json in its folder; a head that the "
                        "checkpoint lacks, or has for other classes, is drawn anew.";
                    row.aliases = {{"--init-path"}};
                }),
        shared("--variable-filter"),
    };
}

std::vector<Option> adam_options() {
    std::vector<Option> rows = concatenated({bert_rate_options(), bert_optimiser_options(), bert_optimiser_details()});
    rows = with_change(rows, "--optimizer", [](Option& row) {
        row.fallback = "adamw";
        row.help =
            "Optimiser: sgd, momentum, adamw (also mpadamw) or lamb. adamw limits the global norm of gradients to the "
            "number of replicas. lamb's trust ratio is 1 for every gamma, beta and bias.";
        row.choices = {"sgd", "momentum", "adamw", "lamb", "mpadamw"};
        row.missing.choices = {};
    });
    rows = with_change(rows, "--base-learning-rate", [](Option& row) {
        row.help =
            "Learning rate at the end of the warm-up; a training without it takes 1e-4 for pretrained and 5e-4 for "
            "random weights, less for models wider than 384.";
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

std::vector<Option> own_process_options(std::string_view splits_help) {
    std::vector<Option> rows = concatenated(
        {shared_rows("--ckpts-per-epoch --epochs-per-ckpt --ckpt-epochs-offset --ckpt-all-instances --validation "
                     "--weight-avg-N --weight-avg-exp --replicas"),
         shared_rows("--max-cross-replica-buffer-size --comm-overlap --comm-wire --comm-route --comm-timeout "
                     "--pipeline --pipeline-splits --pipeline-schedule --lanes --shards --syncs-per-epoch "
                     "--epochs-per-sync --rts --min-remote-tensor-size")});
    rows = with_change(rows, "--replicas", [](Option& row) {
        row.help =
            "Data-parallel replicas in this process, with one set of weights and one update. Results are those of "
            "--gradient-accumulation-count times the replicas.";
    });
    rows = with_names(rows, {{"--rts", "--replicated-tensor-sharding"},
                             {"--max-cross-replica-buffer-size", "--max-cross-replica-sum-buffer-size"}});
    return with_change(rows, "--pipeline-splits", [&](Option& row) { row.help = splits_help; });
}

std::vector<Option> own_device_options() {
    const std::vector<Option> rows = shared_rows(
        "--loss-scaling --enable-recomputation --seed --device-iterations --dataset-benchmark "
        "--compile-only --prefetch-depth --latency --analyse-nans --available-memory-proportion");
    return with_change(with_change(rows, "--loss-scaling", [](Option& row) { row.fallback = 1.0; }),
                       "--device-iterations", [](Option& row) {
                           row.fallback = std::int64_t{1};
                           row.help =
                               "Weight updates per host step: they share a learning rate, and nothing is logged or "
                               "saved between them.";
                       });
}

std::vector<Option> run_logging_options(std::string_view task) {
    return with_names(with_change(shared_rows("--log-dir --logs-path --overwrite --name-suffix --logs-per-epoch "
                                              "--log-freq --no-logs --log-all-instances --tensorboard --wandb "
                                              "--wandb-project --profile"),
                                  "--wandb-project", [&](Option& row) { row.fallback = std::string(task); }),
                      {{"--log-dir", "--save-path"},
                       {"--log-all-instances", "--log-all-workers"},
                       {"--profile", "--execution-profile"}});
}

}  // namespace

std::vector<Option> fine_tuning_files(std::string_view data_help, std::string_view validation_help) {
    return {
        changed(shared("--data-dir"),
                [&](Option& row) {
                    row.help = data_help;
                    row.bind = left_open(to<&FineTuningSettings::file>());
                }),
        {.flag = "--validation-file",
         .help = validation_help,
         .commands = kTVE | kR,
         .main_in = kT | kV,
         .recorded = Recorded::taken,
         .names = Names::path,
         .bind = left_open(to<&FineTuningSettings::validation_file>())},
    };
}

Option packed_option(std::uint32_t commands, std::string_view help) {
    return {.flag = "--packed",
            .type = Type::boolean_value,
            .help = help,
            .commands = commands,
            .recorded = Recorded::ignored,
            .bind = left_open(to<&FineTuningSettings::packed>())};
}

Option fine_tuning_length(std::int64_t fallback, std::string_view help) {
    return changed(bert_length_option(), [&](Option& row) {
        row.fallback = fallback;
        row.help = help;
        row.range = between(5, 65536);
        row.bind = to<&FineTuningSettings::sequence_length>();
    });
}

Option without_effect(std::string_view flag, Type type, Value fallback, std::string_view why) {
    return {.flag = flag,
            .type = type,
            .fallback = std::move(fallback),
            .help = "An option of the original programs.",
            .acts = {.never = why},
            .recorded = Recorded::ignored};
}

namespace {

std::vector<Option> original_options(const std::vector<Option>& own) {
    constexpr std::string_view kOtherData = "only pretraining reads it";
    std::vector<Option> rows = {
        {.flag = "--phases",
         .help = "Run the phases that the line names and no others, as the original programs do.",
         .recorded = Recorded::ignored,
         .bind = to<&FineTuningSettings::only_phases>()},
        {.flag = "--do-training",
         .type = Type::boolean_value,
         .help = "Train; of several phases the first.",
         .recorded = Recorded::ignored,
         .bind = to<&FineTuningSettings::does_training>()},
        {.flag = "--do-evaluation",
         .type = Type::boolean_value,
         .help = "Evaluate the trained weights, or without --do-training those of --init-checkpoint.",
         .recorded = Recorded::ignored,
         .bind = to<&FineTuningSettings::does_evaluation>()},
        {.flag = "--do-predict",
         .type = Type::boolean_value,
         .help = "Predict with the same weights.",
         .recorded = Recorded::ignored,
         .bind = to<&FineTuningSettings::does_prediction>()},
        {.flag = "--output-dir",
         .help = "Folder of the results of these phases (default: that of the weights).",
         .recorded = Recorded::ignored,
         .names = Names::expanded_path,
         .bind = to<&FineTuningSettings::output_dir>()},
        {.flag = "--steps-per-logs",
         .help = "Updates between log lines, instead of --logs-per-epoch and --log-freq; 0: only the first line.",
         .range = between(0, kMostIterations),
         .bind = left_open(to<&FineTuningSettings::steps_per_log>())},
        {.flag = "--steps-per-ckpts",
         .help = "Updates between checkpoints, instead of --ckpts-per-epoch; 0: only the last one.",
         .range = between(0, kMostIterations),
         .bind = left_open(to<&FineTuningSettings::steps_per_checkpoint>())},
        without_effect("--embedded-runtime", Type::boolean_value, false, "requests always run that way"),
        without_effect("--dump-raw-timings", Type::boolean_value, false, "the original program never read it"),
        without_effect("--steps-per-tensorboard", Type::integer, std::int64_t{0}, "there are no histograms"),
        without_effect("--parallel-io-threads", Type::integer, std::int64_t{4}, "--input-threads sets their number"),
        without_effect("--verbose-logging", Type::boolean_value, false, "there are no further messages"),
        without_effect("--wandb-name", Type::text, {}, "the name is that of the run's folder"),
        without_effect("--save-optimiser-to-checkpoint", Type::boolean_value, true, "a run cannot be resumed without"),
        without_effect("--restore-optimiser-from-checkpoint", Type::boolean_value, true,
                       "the original programs never read it"),
        without_effect("--max-predictions-per-seq", Type::integer, std::int64_t{20}, kOtherData),
        without_effect("--duplicate-factor", Type::number, 5.0, kOtherData),
        without_effect("--static-mask", Type::boolean_value, false, kOtherData),
        without_effect("--use-cls-layer", Type::boolean_value, true, kOtherData),
        without_effect("--use-prediction-bias", Type::boolean_value, true, kOtherData),
        without_effect("--disable-acc", Type::boolean_value, false, kOtherData),
        without_effect("--fp-exceptions", Type::boolean_value, false, "--stop-on-nan ends a run that diverges"),
    };
    rows = concatenated({rows, own, original_training_options(), original_stage_options(), original_ipu_options()});
    for (Option& row : rows)
        row.commands = kT | kE | kR;
    return rows;
}

}  // namespace

OptionSet fine_tuning_options(const FineTuningRows& rows) {
    return OptionSet({
        {"Main", with_names(shared_rows("--config --restore-path --help --repeat --total-batch-size "
                                        "--num-inference-thread --force-recompile --tmp-execs --wandb-id"),
                            {{"--restore-path", "--restore-dir"}})},
        {kThisProgram, own_run_options(rows.task)},
        {kModelGroup, encoder_options()},
        {rows.data_group, concatenated({rows.data, tokeniser_options()})},
        {"Training", concatenated({own_batch_options(rows.micro_batch_size), rows.training,
                                   own_process_options(rows.splits_help)})},
        {options::kHeadGroup, rows.head},
        {"Optimiser and learning rate", adam_options()},
        {"Device", concatenated({bert_numerics_options(), own_device_options()})},
        {"Logging", run_logging_options(rows.task)},
        {"Original programs", original_options(rows.original)},
    });
}

namespace {

// Reads options from files beside a checkpoint, written by a run or by another program.

constexpr const char* kLowerCase = "do_lower_case";
constexpr const char* kSplitSpecialTokens = "split_special_tokens";

bool is_of_model_or_vocabulary(const Option& option) {
    constexpr std::string_view kKeys[] = {"vocab_file", kLowerCase, kSplitSpecialTokens};
    return is_of_model(option) || std::ranges::find(kKeys, key(option)) != std::end(kKeys);
}

Layer read_hugging_face_config(const OptionSet& options, const FileSystem& files, const std::string& path) {
    const weights::BertConfig config = weights::parse_bert_config(read_text(files, path), path);
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

/// Takes the options of the model from the checkpoint with which training starts, or which is evaluated: from a run's
/// arguments.json, or from the config.json of Hugging Face's transformers. A vocab.txt or tokenizer.json beside it is
/// the default vocabulary.
void take_recorded_model(Resolution& run, const FileSystem& files) {
    const std::optional<std::string>& first = run.settings().training.init_path;
    const std::string checkpoint = first ? *first : run.settings().main.restore_path.value_or("");
    if (checkpoint.empty()) return;
    if (const RecordedRun recorded = arguments_beside(files, checkpoint); !recorded.source.empty()) {
        if (!first) return;  // evaluations have taken it
        take(run, recorded_options(recorded, run.task.options()), Source::model, is_of_model_or_vocabulary);
    } else if (const std::string config = file_beside(files, checkpoint, "config.json"); !config.empty()) {
        take(run, read_hugging_face_config(run.task.options(), files, config), Source::model, is_of_model);
    }
    for (const char* name : {"vocab.txt", "tokenizer.json"}) {
        const std::string words = file_beside(files, checkpoint, name);
        if (!words.empty() && !run.values.is_set("vocab_file")) run.values.set("vocab_file", words, Source::model);
    }
}

/// Sets --do-lower-case and --split-special-tokens, unless they are set, from the files of transformers beside the
/// vocabulary. Without such files, special tokens are divided as in the original programs.
void choose_tokeniser(OptionValues& values, const FileSystem& files) {
    if (!values.has(kSplitSpecialTokens)) return;
    const data::TokeniserFacts facts =
        data::tokeniser_facts(files, fine_tuning_settings(values.settings()).vocabulary_file);
    const auto is_open = [&](std::string_view key) { return values.source(key) == Source::default_value; };
    if (facts.lower_case && is_open(kLowerCase)) values.set(kLowerCase, *facts.lower_case, Source::adjusted);
    if (!is_open(kSplitSpecialTokens)) return;
    // A run of an earlier version, which records no choice, divided them.
    const bool of_earlier_run = values.source("vocab_file") == Source::arguments;
    values.set(kSplitSpecialTokens, of_earlier_run || facts.splits_special_tokens, Source::adjusted);
}

/// The original programs name the weights of an evaluation as those of a training.
void take_weights_of_evaluation(Resolution& run) {
    const std::optional<std::string> weights = run.settings().training.init_path;
    const bool evaluates = run.command == Command::validation || run.command == Command::inference;
    if (!evaluates || !weights || run.values.is_set("restore_path")) return;
    run.values.set("restore_path", *weights, run.values.source("init_checkpoint"));
    run.values.reset("init_checkpoint");
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

Violation vocabulary_given(const Resolution& run) {
    if (!fine_tuning_settings(run.settings()).vocabulary_file.empty()) return {};
    return "no vocabulary: give --vocab-file, the vocabulary with which the model was trained";
}

Violation phases_have_weights(const Resolution& run) {
    const FineTuningSettings& own = fine_tuning_settings(run.settings());
    const bool has_weights = run.settings().training.init_path || run.settings().main.restore_path;
    if (trains(run) || has_weights || !(own.does_evaluation || own.does_prediction)) return {};
    return "--do-evaluation and --do-predict without --do-training need --init-checkpoint";
}

Violation phases_have_length(const Resolution& run) {
    if (!trains(run) || run.values.is_set("epochs") || run.values.is_set("iterations")) return {};
    return "the length of the training is not known: give --epochs or --num-train-steps";
}

Violation packs_texts(const Resolution& run) {
    const FineTuningSettings& own = fine_tuning_settings(run.settings());
    if (!own.model.groupbert || !own.packed.value_or(false)) return {};
    return "--packed: GroupBERT's convolution reads across the texts of a row; leave it out";
}

Violation length_fits(const Resolution& run) {
    const std::int64_t length = fine_tuning_settings(run.settings()).sequence_length;
    const std::int64_t positions = fine_tuning_settings(run.settings()).model.positions;
    if (length <= positions) return {};
    return "--seq-length " + std::to_string(length) + " is longer than the model's table of " +
           std::to_string(positions) + " positions; give --seq-length " + std::to_string(positions) + " or less";
}

struct CountedSamples {
    std::int64_t samples = 0;  // 0: there is no file
    double tokens = 0;         // of a sample, about
};

CountedSamples samples_in(const std::string& file, std::string_view mark) {
    constexpr double kBytesOfToken = 4;
    if (!exists(posix_files(), file) || is_directory(posix_files(), file)) return {};
    const std::string text = read_text(posix_files(), file);
    CountedSamples counted;
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + mark.size()))
        ++counted.samples;
    counted.tokens = static_cast<double>(text.size()) / kBytesOfToken / static_cast<double>(counted.samples);
    return counted;
}

/// A pretrained encoder 384 wide learnt 2742 texts at 1e-4 in 4 epochs of 16, and its answers to held-out texts were
/// best after 600 to 1000 updates with 3253 texts. At 768 and 1024 the rate comes to the range that Devlin et al. 2019
/// tried, 5e-5 to 2e-5. Few samples have small batches and many epochs, so that there are enough updates to learn;
/// random weights need more of both.
void choose_recipe(Resolution& run, std::string_view mark, std::string_view unit) {
    const auto is_open = [&](std::string_view key) { return run.values.source(key) == Source::default_value; };
    const bool has_length = run.values.is_set("iterations") || run.values.is_set("epochs");
    if (!is_open("base_learning_rate") && !is_open("micro_batch_size") && has_length) return;
    const FineTuningSettings& own = fine_tuning_settings(run.settings());
    const auto [samples, tokens] = samples_in(own.file, mark);
    if (samples == 0) return;
    const double texts_of_row =
        own.packed.value_or(false) ? std::max(1.0, static_cast<double>(own.sequence_length) / tokens) : 1;
    std::vector<std::string> chosen;
    const auto choose = [&](std::string_view key, const Value& value) {
        run.values.set(key, value, Source::model);
        chosen.push_back(std::string(run.values.option(key).flag) + " " + to_string(value));
    };
    const bool pretrained = run.settings().training.init_path.has_value();
    const double narrow = std::min(1.0, 384.0 / static_cast<double>(own.model.hidden));
    if (is_open("base_learning_rate")) choose("base_learning_rate", (pretrained ? 1e-4 : 5e-4) * narrow);
    if (is_open("micro_batch_size")) {
        const double texts = samples < 800 ? 8 : samples < 4000 ? 16 : 32;
        choose("micro_batch_size", std::max<std::int64_t>(1, std::llround(texts / texts_of_row)));
    }
    if (!has_length) {
        const run::TrainingSettings& training = run.settings().training;
        const double batch =
            texts_of_row * static_cast<double>(training.micro_batch_size * training.gradient_accumulation_count);
        const double epochs = std::ceil((pretrained ? 1000 : 3000) * batch / static_cast<double>(samples));
        choose("epochs", pretrained ? std::clamp(epochs, 3.0, 20.0) : std::clamp(epochs, 10.0, 50.0));
    }
    const bool warms_up = is_open("warmup") && own.lr_schedule != "custom";
    if (warms_up) choose("warmup", own.learning_rate.warmup);
    run.notices.push_back("chosen for about " + std::to_string(samples) + " " + std::string(unit) + " and " +
                          (pretrained ? "pretrained weights, which change slowly: "
                                      : "random weights, which need many updates at a high rate: ") +
                          listed(chosen) +
                          (warms_up ? " (of the run: the first gradients of a new head are large)" : ""));
}

}  // namespace

void fill_fine_tuning(Resolution& run, std::string_view mark, std::string_view unit) {
    drop_empty_texts(run, {"init_checkpoint", "restore_path", "logs_path"});
    take_recorded_model(run, posix_files());
    take_weights_of_evaluation(run);
    choose_tokeniser(run.values, posix_files());
    note_group_bert(run);
    if (!trains(run)) return;
    if (fine_tuning_settings(run.settings()).only_phases) {
        // The default of the original programs, whose configurations do not name it.
        if (run.values.source("use_debiasing") == Source::default_value)
            run.values.set("use_debiasing", false, Source::model);
        return;
    }
    choose_recipe(run, mark, unit);
    if (!run.values.is_set("epochs") && !run.values.is_set("iterations")) run.values.set("epochs", 3.0, Source::model);
}

void check_fine_tuning(Resolution& run, const std::string& no_data) {
    if (run.command == Command::restore) return;  // the run's own options are checked when they are read
    if (Violation missing = text_sizes_given(run); !missing.empty()) {
        run.violations.push_back(std::move(missing));  // the other rules need sizes
        return;
    }
    if (fine_tuning_settings(run.settings()).file.empty() && !no_data.empty()) run.violations.push_back(no_data);
    check_rules({{kTVE, vocabulary_given},
                 {kTVE, length_fits},
                 {kTVE, packs_texts},
                 {kT | kE, phases_have_weights},
                 {kT, phases_have_length}},
                run);
    check_rules(bert_model_rules(), run);
    if (trains(run)) check_rules(bert_rate_rules(), run);
}

void complete_fine_tuning(Settings& settings) {
    FineTuningSettings& own = settings.task.as<FineTuningSettings>();
    if (!own.model.stages.empty()) {
        settings.training.pipeline = true;
        settings.training.pipeline_splits = splits_of(own.model.stages);
    }
    settle_bert(settings);
}

run::TaskRow fine_tuning_row() {
    return {.options = {.name = {},
                        .commands = {Command::train, Command::validation, Command::inference, Command::restore},
                        .options = nullptr,
                        .examples = nullptr,
                        .alternatives = {{"epochs", "iterations"},
                                         {"ckpts_per_epoch", "epochs_per_ckpt", true},
                                         {"validate_every", "validate_every_updates"},
                                         {"syncs_per_epoch", "epochs_per_sync", true}},
                        .trains = trains_in_phases,
                        .settings = nullptr},
            .make = nullptr,
            .functions = nullptr,
            .scopes = nn::bert_scopes};
}

FineTuning::FineTuning(const options::ParseResult& arguments, const backend::Backend& backend, std::uint64_t seed,
                       const Words& words)
    : arguments_(arguments), backend_(backend), seed_(seed), words_(words) {
    check_vocabulary();
}

void FineTuning::check_vocabulary() const {
    const std::string& vocabulary = fine_tuned().vocabulary_file;
    const bool from_record = arguments_.at("vocab_file").source == options::Source::model;
    const run::MainSettings& main = settings().main;
    const std::optional<std::string>& weights = main.trains ? settings().training.init_path : main.restore_path;
    if (!weights || !exists(posix_files(), vocabulary)) return;
    try {
        run::is_vocabulary_of(posix_files(), weights::one_of(posix_files(), *weights).path, vocabulary);
    } catch (const Error& error) {
        if (!main.trains || from_record || error.kind() != ErrorKind::data) throw;
        log::warning(error.what());
    }
}

run::TaskDescription FineTuning::description() const {
    const nn::BertSettings& model = fine_tuned().model;
    run::TaskDescription result;
    if (fine_tuned().has_phases()) result.events_folder = "event";
    result.model = bert_name(model);
    result.run_name = bare_run_name();
    result.title = bert_title(model);
    result.details = std::to_string(model.hidden) + " wide";
    result.identity = {{"model", result.model},
                       {"data set", std::string(words_.data_set)},
                       {"sequence length", std::to_string(fine_tuned().sequence_length)}};
    result.work = bert_work(model, fine_tuned().sequence_length);
    result.summary_head = std::string(words_.title) + "\n" + bert_sizes(model) + "\n Sequences of " +
                          std::to_string(fine_tuned().sequence_length) + " tokens\n";
    if (settings().main.trains) {
        const schedule::BatchPlan batch = run::batch_plan(settings());
        result.summary_training =
            "Training\n Global batch size: " + std::to_string(batch.global_batch()) +
            "\n Optimiser: " + options::to_string(arguments_.at("optimizer").value) +
            "\n Learning rate schedule: " + options::to_string(arguments_.at("lr_schedule").value) + "\n";
    }
    result.arithmetic = run::arithmetic(settings().device, backend_);
    return result;
}

std::string FineTuning::bare_run_name() const {
    const run::TrainingSettings& training = settings().training;
    std::string name = bert_name(fine_tuned().model) + "_" + std::string(words_.run) + "_bs" +
                       std::to_string(training.micro_batch_size);
    if (training.gradient_accumulation_count > 1)
        name += "x" + std::to_string(training.gradient_accumulation_count) + (training.pipeline ? "p" : "a");
    if (training.replicas > 1) name += "x" + std::to_string(training.replicas) + "r";
    if (settings().logging.name_suffix) name += "_" + *settings().logging.name_suffix;
    return name;
}

/// GroupBERT's convolution would read beyond the ends of a text.
bool FineTuning::packs(data::Split split) const {
    const FineTuningSettings& own = fine_tuned();
    if (own.model.groupbert) return false;
    if (settings().main.trains) return split == data::Split::validation || own.packed.value_or(false);
    const bool measures = arguments_.command == Command::inference && run::measures_requests(settings());
    return !measures && own.packed.value_or(true);
}

std::shared_ptr<const data::Dataset> FineTuning::rows_of(data::Split split,
                                                         const std::shared_ptr<const data::Dataset>& texts,
                                                         std::int64_t slots) const {
    if (!packs(split)) return texts;
    Packed& packed = packed_[split];
    if (packed.texts != texts)
        packed = {texts, data::pack_texts(texts, slots, run::core_budget(settings().run).input_threads)};
    return packed.rows;
}

data::PackedPlace FineTuning::place_of(data::Split split, std::int64_t text) const {
    if (!packs(split)) return {.row = text};
    return packed_.at(split).rows->places()[static_cast<std::size_t>(text)];
}

bool FineTuning::is_on_line(std::string_view key) const {
    return arguments_.at(key).source == options::Source::command_line;
}

schedule::RunPlan FineTuning::plan(std::int64_t samples) const {
    schedule::RunPlan plan = run::run_plan(settings(), samples);
    const FineTuningSettings& own = fine_tuned();
    // The original programs count the whole batches of an epoch.
    if (own.only_phases && !settings().training.iterations && plan.iterations_per_epoch > 0) {
        const double updates = static_cast<double>(plan.iterations_per_epoch) * plan.epochs;
        plan.iterations = std::max<std::int64_t>(1, static_cast<std::int64_t>(updates));
    }
    const std::int64_t updates = plan.iterations_per_host_step;
    const auto period = [&](std::int64_t steps) {
        return steps == 0 ? plan.iterations : (steps + updates - 1) / updates * updates;
    };
    if (own.steps_per_log >= 0) plan.log_freq = period(own.steps_per_log);
    if (own.steps_per_checkpoint >= 0) {
        plan.iterations_per_checkpoint = period(own.steps_per_checkpoint);
        plan.first_checkpoint_from = 0;
        plan.avoid_early_checkpoint = false;
    }
    return plan;
}

run::Rate FineTuning::rate(const schedule::RunPlan& plan) const {
    return {bert_learning_rate(fine_tuned(), plan), bert_rate_topics(arguments_, plan)};
}

}  // namespace cnntrain::tasks
