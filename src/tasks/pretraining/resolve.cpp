// Converts the values of pretraining's options to its settings: batch arithmetic, rules between options, and members
// that depend on several options.
#include "tasks/pretraining/resolve.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/base/checked.h"
#include "cnntrain/base/cores.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/options/commands.h"
#include "cnntrain/options/parse.h"
#include "tasks/bert/resolve.h"
#include "tasks/pretraining/options.h"
#include "tasks/recorded.h"

namespace cnntrain::tasks {
namespace {

constexpr const char* kAccumulation = "gradient_accumulation_count";
constexpr const char* kGlobalBatch = "global_batch_size";
constexpr const char* kStages = "pipeline_stages";

using Stages = std::vector<std::vector<std::string>>;

/// The tokens of each stage; empty: a single stage.
Stages stages_of(const OptionValues& values) {
    if (!values.is_set(kStages)) return {};
    return word_lists(values.text(kStages), "--pipeline-stages");
}

std::int64_t stage_count(const OptionValues& values) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(stages_of(values).size()));
}

std::int64_t block(const OptionValues& values) {
    return micro_batch_unit(stage_count(values));
}

/// An empty value removes a configuration's value.
void drop_empty_texts(Resolution& run) {
    for (const char* key : {"init_checkpoint", "restore_dir", "train_file", "valid_file", "logs_path"}) {
        if (run.values.is_set(key) && run.values.text(key).empty()) run.values.reset(key);
    }
}

bool is_of_evaluation(const Option& option) {
    constexpr std::array<std::string_view, 8> kOthers = {
        "seq_length", "max_predictions_per_seq", "static_mask", "packed",
        "valid_file", "micro_batch_size",        "precision",   "compute_type"};
    return is_of_model(option) || std::ranges::find(kOthers, key(option)) != kOthers.end();
}

bool is_made_up_data(const Option& option) {
    return key(option) == "generated_data" || key(option) == "synthetic_data";
}

/// Takes the options of the network and the sequences from the run whose checkpoints are evaluated. Held-out files
/// replace generated sequences.
void take_recorded_run(Resolution& run, const FileSystem& files) {
    const std::string run_folder = run.values.text("restore_dir");
    const std::string checkpoint = run_folder.empty() ? run.values.text("init_checkpoint") : run_folder;
    const Layer recorded = recorded_options(arguments_beside(files, checkpoint), pretraining_options());
    take(run, recorded, Source::arguments, is_of_evaluation);
    if (!run.values.is_set("valid_file")) take(run, recorded, Source::arguments, is_made_up_data);
}

/// Converts --global-batch-size to micro-batches, rounded up to a legal multiple. With a pipeline, as in the original
/// programs, the number is rounded up even if it is legal.
void settle_global_batch(Resolution& run) {
    OptionValues& values = run.values;
    if (!values.is_set(kGlobalBatch) || !values.is_set("micro_batch_size")) return;
    // An option on the line overrides its alternative in a configuration.
    if (values.is_set(kAccumulation) && values.at(kAccumulation).source > values.at(kGlobalBatch).source) {
        values.reset(kGlobalBatch);
        return;
    }
    const std::int64_t of_replicas =
        checked_product(values.integer("micro_batch_size"), bert_replicas(values), "the micro-batch of all replicas");
    const std::int64_t wanted = values.integer(kGlobalBatch) / of_replicas;
    const std::int64_t unit = block(values);
    const std::int64_t count = unit == 1 ? std::max<std::int64_t>(1, wanted) : unit * (1 + wanted / unit);
    const bool same_source = values.is_set(kAccumulation) &&
                             values.at(kAccumulation).source == values.at(kGlobalBatch).source &&
                             values.integer(kAccumulation) != count;
    if (same_source) {
        run.violations.push_back("--global-batch-size " + std::to_string(values.integer(kGlobalBatch)) + " has " +
                                 std::to_string(count) + " micro-batches, but --gradient-accumulation-count is " +
                                 std::to_string(values.integer(kAccumulation)) + "; give one of them");
        return;
    }
    values.set(kAccumulation, count, Source::adjusted);
    values.set(kGlobalBatch, checked_product(count, of_replicas, "the global batch"), Source::adjusted);
}

Violation pretraining_sizes_given(const OptionValues& values) {
    std::vector<const char*> needed = {"micro_batch_size",  "vocab_size",          "hidden_size",
                                       "num_hidden_layers", "num_attention_heads", "intermediate_size"};
    if (!values.flag("evaluate")) needed.push_back("num_train_steps");
    std::string missing;
    for (const char* key : needed) {
        if (values.is_set(key)) continue;
        missing += (missing.empty() ? "" : ", ") + std::string(values.at(key).option->flag);
    }
    if (missing.empty()) return {};
    return "not given: " + missing + "; a configuration gives them (--config pretrain_base_128_phase1)";
}

Violation accumulation_given(const OptionValues& values) {
    if (values.is_set(kAccumulation) || values.is_set(kGlobalBatch)) return {};
    return "neither --gradient-accumulation-count nor --global-batch-size is given; choose one";
}

Violation accumulation_fits_stages(const OptionValues& values) {
    const std::int64_t unit = block(values);
    const std::int64_t count = values.integer(kAccumulation);
    if (count % unit == 0) return {};
    const std::int64_t below = count / unit * unit;
    return "--gradient-accumulation-count " + std::to_string(count) + " is not a multiple of " + std::to_string(unit) +
           ", twice the number of --pipeline-stages; the nearest multiples: " +
           (below > 0 ? std::to_string(below) + " and " : "") + std::to_string(below + unit);
}

Violation data_given(const OptionValues& values) {
    if (values.flag("generated_data") || values.flag("synthetic_data")) return {};
    if (values.is_set("train_file") || values.flag("execution_profile")) return {};
    return "no data: give --train-file, or --generated-data";
}

Violation evaluation_complete(const OptionValues& values) {
    if (!values.flag("evaluate")) return {};
    if (!values.is_set("init_checkpoint") && !values.is_set("restore_dir"))
        return "--evaluate needs --init-checkpoint, a checkpoint, or --restore-dir, the folder of a run";
    if (values.is_set("valid_file") || values.flag("generated_data") || values.flag("synthetic_data")) return {};
    return "--evaluate needs --valid-file, the held-out sequences";
}

/// Evaluation only: in training, --restore-dir has precedence over --init-checkpoint, with which the run began.
Violation one_source_to_evaluate(const OptionValues& values) {
    if (!values.flag("evaluate") || !values.is_set("init_checkpoint") || !values.is_set("restore_dir")) return {};
    return "--evaluate: --init-checkpoint and --restore-dir are both given; choose one";
}

/// Backends without the option read the table as a whole.
Violation serialized_vocabulary(const OptionValues& values) {
    const auto backend = named<backend::BackendKind>(values.text("backend"));
    const Option& factor = *values.at("matmul_serialize_factor").option;
    if (!backend || (factor.acts_on_backends & bit(*backend)) == 0) return {};
    const std::int64_t words = values.integer("vocab_size");
    const std::int64_t slices = values.integer("matmul_serialize_factor");
    if (words % slices == 0) return {};
    return "--matmul-serialize-factor " + std::to_string(slices) + " must divide --vocab-size " + std::to_string(words);
}

Violation lengths_fit(const OptionValues& values) {
    const std::int64_t length = values.integer("seq_length");
    const std::int64_t predictions = values.integer("max_predictions_per_seq");
    if (predictions > length) {
        return "--max-predictions-per-seq " + std::to_string(predictions) + " is larger than --seq-length " +
               std::to_string(length);
    }
    const std::int64_t positions = values.integer("max_position_embeddings");
    if (length <= positions) return {};
    return "--seq-length " + std::to_string(length) + " is longer than the table of positions: raise " +
           "--max-position-embeddings " + std::to_string(positions);
}

std::int64_t count_of(const Stages& stages, std::string_view token) {
    std::int64_t count = 0;
    for (const auto& stage : stages)
        count += std::ranges::count(stage, token);
    return count;
}

/// Tokens in the order of the data: emb..., pos, hid..., mlm..., nsp.
Violation stage_order(const Stages& stages) {
    constexpr std::string_view kOrder[] = {nn::kWordsToken, nn::kPositionsToken, nn::kLayerToken, nn::kMaskedWordsToken,
                                           nn::kSentencesToken};
    std::size_t reached = 0;
    for (const auto& stage : stages) {
        for (const std::string& token : stage) {
            const auto* const found = std::ranges::find(kOrder, token);
            if (found == std::end(kOrder))
                return "--pipeline-stages: unknown function '" + token + "'; functions: emb, pos, hid, mlm and nsp";
            const auto place = static_cast<std::size_t>(found - std::begin(kOrder));
            if (place < reached) {
                return "--pipeline-stages: '" + token + "' follows '" + std::string(kOrder[reached]) +
                       "', but precedes it in the network: emb, pos, hid, mlm, nsp";
            }
            reached = place;
        }
    }
    return {};
}

Violation stages(const OptionValues& values) {
    const Stages stages = stages_of(values);
    if (stages.empty()) return {};
    if (stages.size() == 1) return "--pipeline-stages: expected at least 2 stages; leave it out for one";
    if (std::ranges::any_of(stages, [](const auto& stage) { return stage.empty(); }))
        return "--pipeline-stages: a stage has no functions";
    if (Violation order = stage_order(stages); !order.empty()) return order;
    const std::int64_t layers = values.integer("num_hidden_layers");
    if (count_of(stages, nn::kLayerToken) != layers) {
        return "--pipeline-stages has 'hid' " + std::to_string(count_of(stages, nn::kLayerToken)) +
               " times, but --num-hidden-layers is " + std::to_string(layers);
    }
    const std::int64_t parts = count_of(stages, nn::kWordsToken);
    if (parts == 0 || count_of(stages, nn::kMaskedWordsToken) != parts)
        return "--pipeline-stages must have 'emb' and 'mlm', the same number of times";
    for (const std::string_view token : {nn::kPositionsToken, nn::kSentencesToken}) {
        if (count_of(stages, token) != 1) return "--pipeline-stages must have '" + std::string(token) + "' once";
    }
    if (values.integer("vocab_size") % parts == 0) return {};
    return "--vocab-size " + std::to_string(values.integer("vocab_size")) + " cannot be split evenly over the " +
           std::to_string(parts) + " 'emb' of --pipeline-stages";
}

/// The devices of the stages with this token, in order.
std::vector<std::int64_t> devices_of(const Stages& stages, const std::vector<std::int64_t>& mapping,
                                     std::string_view token) {
    std::vector<std::int64_t> devices;
    for (std::size_t i = 0; i < stages.size(); ++i) {
        for (std::int64_t n = std::ranges::count(stages[i], token); n > 0; --n)
            devices.push_back(mapping[i]);
    }
    return devices;
}

Violation devices(const OptionValues& values) {
    if (!values.is_set("device_mapping") || !values.is_set(kStages)) return {};
    const Stages stages = stages_of(values);
    const auto& mapping = std::get<std::vector<std::int64_t>>(values.at("device_mapping").value);
    if (mapping.size() != stages.size()) {
        return "--device-mapping has " + std::to_string(mapping.size()) + " devices for " +
               std::to_string(stages.size()) + " --pipeline-stages";
    }
    if (devices_of(stages, mapping, nn::kWordsToken) == devices_of(stages, mapping, nn::kMaskedWordsToken)) return {};
    return "--device-mapping: the stages of 'emb' and of 'mlm' share the table of words and must have the same device";
}

Violation save_folder(const OptionValues& values) {
    if (!values.text("save_path").empty()) return {};
    return "--save-path is empty; give the folder in which run folders are created";
}

const std::vector<Rule> kPretrainingRules = {
    {kAll, evaluation_complete},
    {kAll, one_source_to_evaluate},
    {kAll, lengths_fit},
    {kAll, serialized_vocabulary},
    {kAll, stages},
    {kAll, save_folder},
};

Violation validation_data_given(const OptionValues& values) {
    const bool validates = values.number("validate_every") > 0 || values.integer("validate_every_updates") > 0;
    if (!validates || values.is_set("valid_file") || values.flag("generated_data") || values.flag("synthetic_data"))
        return {};
    return "validation during training needs --valid-file, the held-out sequences";
}

const std::vector<Rule> kTrainingRules = {
    {kAll, validation_data_given},
    {kAll, accumulation_given},
    {kAll, accumulation_fits_stages},
    {kAll, data_given},
    {kAll, devices},
};

/// The functions with which stages begin, numbered as in nn::bert_functions().
std::vector<std::string> splits_of(const Stages& stages) {
    std::map<std::string, std::int64_t> met;
    std::vector<std::string> splits;
    for (std::size_t i = 0; i < stages.size(); ++i) {
        for (std::size_t k = 0; k < stages[i].size(); ++k) {
            const std::string& token = stages[i][k];
            const std::int64_t number = met[token]++;
            if (i > 0 && k == 0) splits.push_back(token + std::to_string(number));
        }
    }
    return splits;
}

void set_text(Settings& settings) {
    PretrainingSettings& own = settings.task.as<PretrainingSettings>();
    data::PretrainingSettings& text = own.text;
    text.generated = text.generated || own.synthetic || (settings.logging.profile && text.files.empty());
    if (text.generated) text.files.clear();
    text.vocabulary_size = text.generated ? own.model.vocabulary : bert_words_in_files(own.model.vocabulary);
    text.max_positions = own.model.positions;
    text.type_vocabulary = own.model.segment_types;
}

/// The original programs' configurations use recomputation because of the memory of IPUs.
void note_recomputation(Resolution& run) {
    if (run.values.at("enable_recomputation").source != Source::config || !run.values.flag("enable_recomputation"))
        return;
    run.notices.emplace_back(
        "enable_recomputation in the configuration saves memory, and updates take about a third more time; "
        "--no-enable-recomputation gives the same results");
}

/// Evaluation reads a checkpoint or the folder of a run, which have different flags, and has no steps.
void set_evaluation(Settings& settings) {
    if (settings.training.init_path)
        settings.main.restore_path = std::exchange(settings.training.init_path, std::nullopt);
    settings.training.iterations.reset();
}

/// Rounds the number of steps down to whole host steps of --device-iterations.
void round_steps(run::TrainingSettings& training) {
    training.iterations = *training.iterations / training.device_iterations * training.device_iterations;
}

}  // namespace

std::int64_t micro_batch_unit(std::int64_t stages) {
    return stages == 1 ? 1 : 2 * stages;
}

void fill_pretraining(Resolution& run) {
    drop_empty_texts(run);
    if (run.values.flag("evaluate")) take_recorded_run(run, posix_files());
}

void adjust_pretraining(Resolution& run) {
    settle_global_batch(run);
    if (run.values.flag("generated_data") && run.values.given("train_file"))
        run.notices.emplace_back("--train-file is ignored: --generated-data is given");
    note_recomputation(run);
}

void check_pretraining(Resolution& run) {
    if (Violation missing = pretraining_sizes_given(run.values); !missing.empty()) {
        run.violations.push_back(std::move(missing));  // the other rules need sizes
        return;
    }
    check_rules(kPretrainingRules, run);
    check_rules(bert_model_rules(), run);
    if (!trains(run)) return;
    check_rules(kTrainingRules, run);
    check_rules(bert_rate_rules(), run);
}

bool pretraining_trains(const Resolution& run) {
    return !run.values.flag("evaluate");
}

void complete_pretraining(Settings& settings, Resolution& run) {
    PretrainingSettings& own = settings.task.as<PretrainingSettings>();
    own.model.stages = stages_of(run.values);
    settings.training.pipeline = own.model.stages.size() > 1;
    settings.training.pipeline_splits = splits_of(own.model.stages);
    set_bert_rate(own.learning_rate, run.values);
    set_bert_optimiser(settings.optimiser, run.values);
    set_bert_precision(settings, run.values);
    settings.ipu.inputs_stay = own.synthetic;
    set_text(settings);
    settings.validation.enabled = settings.validation.any();
    if (settings.main.trains) {
        round_steps(settings.training);
    } else {
        set_evaluation(settings);
    }
}

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".json";
constexpr std::string_view kFolder = "bert";

/// Names from older documents, without the phase.
constexpr std::pair<std::string_view, std::string_view> kOldNames[] = {
    {"pretrain_base_128", "pretrain_base_128_phase1"},
    {"pretrain_base_384", "pretrain_base_384_phase2"},
    {"pretrain_large_128", "pretrain_large_128_phase1"},
    {"pretrain_large_384", "pretrain_large_384_phase2"},
};

bool is_file(const fs::path& path) {
    return exists(posix_files(), path) && !is_directory(posix_files(), path);
}

/// The end of ".json" if a comma or a quotation mark follows: a published line has `.json","$DATASETS_DIR/...`, which
/// becomes one word in a shell.
std::size_t end_of_name(const std::string& word) {
    const std::size_t suffix = word.find(kSuffix);
    if (suffix == std::string::npos) return word.size();
    const std::size_t end = suffix + kSuffix.size();
    const bool slip = end < word.size() && (word[end] == ',' || word[end] == '"');
    return slip ? end : word.size();
}

/// "configs/pretrain_base_128.json" -> "pretrain_base_128".
std::string stem_of(const std::string& word) {
    const std::string name = fs::path(word).filename();
    return name.ends_with(kSuffix) ? name.substr(0, name.size() - kSuffix.size()) : name;
}

std::string current_name(const std::string& stem) {
    const auto* const old = std::ranges::find(kOldNames, stem, &std::pair<std::string_view, std::string_view>::first);
    return old == std::end(kOldNames) ? stem : std::string(old->second);
}

/// "pretrain_base_groupbert_128.json" -> "pretrain_base_128".
std::string plain_stem(const std::string& word) {
    constexpr std::string_view kPart = "groupbert";
    std::string stem = stem_of(word);
    const std::size_t at = stem.find(kPart);
    if (at == std::string::npos) return stem;
    const std::size_t begin = at > 0 && stem[at - 1] == '_' ? at - 1 : at;
    return stem.erase(begin, at + kPart.size() - begin);
}

std::optional<fs::path> find_file(const std::string& word, const std::vector<std::string>& folders) {
    const FileKind kind = posix_files().kind(word);
    if (kind != FileKind::absent && kind != FileKind::directory) return word;
    const std::string name = current_name(stem_of(word)) + std::string(kSuffix);
    for (const std::string& folder : folders) {
        for (const fs::path& path : {fs::path(folder) / kFolder / name, fs::path(folder) / name}) {
            if (is_file(path)) return path;
        }
    }
    return std::nullopt;
}

[[noreturn]] void refuse_unknown(const std::string& word, const std::vector<std::string>& folders) {
    const std::vector<std::string> known = pretraining_config_names(folders);
    std::string names;
    for (const std::string& name : known)
        names += " " + name;
    if (const std::string_view missing = missing_part(word); !missing.empty()) {
        const std::string plain = nearest_name(current_name(plain_stem(word)), known);
        throw Error(ErrorKind::unsupported, "configuration '" + word + "': " + std::string(missing) +
                                                (plain.empty() ? "" : "; BERT's own is '" + plain + "'") +
                                                "; configurations of BERT:" + names);
    }
    std::string message = "unknown configuration '" + word + "'" + suggestion(stem_of(word), known);
    message += known.empty() ? "; no configuration files in" : "; known in";
    for (const std::string& folder : folders)
        message += " " + folder;
    throw Error(ErrorKind::usage, message + (known.empty() ? "" : ":" + names));
}

}  // namespace

options::NamedConfig read_pretraining_config(const std::string& config, const options::Environment& environment) {
    const std::size_t end = end_of_name(config);
    const std::string word = config.substr(0, end);
    const std::optional<fs::path> file = find_file(word, environment.config_folders);
    if (!file) refuse_unknown(word, environment.config_folders);
    options::NamedConfig result{.name = word};
    try {
        result.layer = options::layer_of_json_config(pretraining_options(), read_text(posix_files(), *file));
    } catch (const Error& error) {
        throw Error(ErrorKind::usage, error.what()).within(file->string());
    }
    if (end < config.size()) {
        result.notices.push_back("--config: '" + config.substr(end) + "' after " + word +
                                 " is not part of the name and is ignored; --train-file names the data");
    }
    return result;
}

std::vector<std::string> pretraining_config_names(const std::vector<std::string>& folders) {
    std::set<std::string> names;
    for (const std::string& folder : folders) {
        for (const fs::path& place : {fs::path(folder) / kFolder, fs::path(folder)}) {
            if (!is_directory(posix_files(), place)) continue;
            for (const std::string& name : posix_files().list(place)) {
                if (name.ends_with(kSuffix)) names.insert(stem_of(name));
            }
        }
    }
    return {names.begin(), names.end()};
}

}  // namespace cnntrain::tasks
