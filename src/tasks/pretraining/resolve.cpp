// Converts the values of pretraining's options to its settings: batch arithmetic, rules between options, and members
// that depend on several options.
#include "tasks/pretraining/options.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/base/checked.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/processor.h"
#include "cnntrain/options/commands.h"
#include "cnntrain/options/parse.h"
#include "tasks/bert/bert.h"
#include "tasks/task_table.h"

namespace cnntrain::tasks {
namespace {

constexpr const char* kAccumulation = "gradient_accumulation_count";
constexpr const char* kGlobalBatch = "global_batch_size";

using Stages = std::vector<std::vector<std::string>>;

const PretrainingSettings& own_of(const Resolution& run) {
    return pretraining_settings(run.settings());
}

bool are_made_up(const PretrainingSettings& own) {
    return own.text.generated || own.synthetic;
}

/// The micro-batches of a weight update are a multiple of this.
std::int64_t block(const Resolution& run) {
    return micro_batch_unit(std::max<std::int64_t>(1, std::ssize(own_of(run).model.stages)));
}

/// An empty value removes a configuration's value.
void drop_empty_texts(Resolution& run) {
    for (const char* key : {"init_checkpoint", "restore_dir", "train_file", "valid_file", "logs_path"}) {
        if (run.values.at(key).value == Value(std::string())) run.values.reset(key);
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
    const Settings& settings = run.settings();
    const std::string checkpoint =
        settings.main.restore_path ? *settings.main.restore_path : settings.training.init_path.value_or("");
    const Layer recorded = recorded_options(arguments_beside(files, checkpoint), pretraining_options());
    take(run, recorded, Source::arguments, is_of_evaluation);
    if (!own_of(run).held_out_files) take(run, recorded, Source::arguments, is_made_up_data);
}

/// Converts --global-batch-size to micro-batches, rounded up to a legal multiple. With a pipeline, as in the original
/// programs, the number is rounded up even if it is legal.
void settle_global_batch(Resolution& run) {
    OptionValues& values = run.values;
    const run::TrainingSettings& training = run.settings().training;
    if (!values.is_set(kGlobalBatch) || !values.is_set("micro_batch_size")) return;
    // An option on the line overrides its alternative in a configuration.
    const bool has_count = values.is_set(kAccumulation);
    if (has_count && values.source(kAccumulation) > values.source(kGlobalBatch)) {
        values.reset(kGlobalBatch);
        return;
    }
    const std::int64_t of_replicas =
        checked_product(training.micro_batch_size, bert_replicas(run.settings()), "the micro-batch of all replicas");
    const std::int64_t batch = own_of(run).global_batch_size;
    const std::int64_t unit = block(run);
    const std::int64_t wanted = batch / of_replicas;
    const std::int64_t count = unit == 1 ? std::max<std::int64_t>(1, wanted) : unit * (1 + wanted / unit);
    const std::int64_t given = training.gradient_accumulation_count;
    if (has_count && values.source(kAccumulation) == values.source(kGlobalBatch) && given != count) {
        run.violations.push_back("--global-batch-size " + std::to_string(batch) + " has " + std::to_string(count) +
                                 " micro-batches, but --gradient-accumulation-count is " + std::to_string(given) +
                                 "; give one of them");
        return;
    }
    values.set(kAccumulation, count, Source::adjusted);
    values.set(kGlobalBatch, checked_product(count, of_replicas, "the global batch"), Source::adjusted);
}

Violation pretraining_sizes_given(const Resolution& run) {
    std::vector<const char*> needed = {"micro_batch_size",  "vocab_size",          "hidden_size",
                                       "num_hidden_layers", "num_attention_heads", "intermediate_size"};
    if (trains(run)) needed.push_back("num_train_steps");
    std::string missing;
    for (const char* key : needed) {
        if (run.values.is_set(key)) continue;
        missing += (missing.empty() ? "" : ", ") + std::string(run.values.option(key).flag);
    }
    if (missing.empty()) return {};
    return "not given: " + missing + "; a configuration gives them (--config pretrain_base_128_phase1)";
}

Violation accumulation_given(const Resolution& run) {
    if (run.values.is_set(kAccumulation) || run.values.is_set(kGlobalBatch)) return {};
    return "neither --gradient-accumulation-count nor --global-batch-size is given; choose one";
}

Violation accumulation_fits_stages(const Resolution& run) {
    const std::int64_t unit = block(run);
    const std::int64_t count = run.settings().training.gradient_accumulation_count;
    if (count % unit == 0) return {};
    const std::int64_t below = count / unit * unit;
    return "--gradient-accumulation-count " + std::to_string(count) + " is not a multiple of " + std::to_string(unit) +
           ", twice the number of --pipeline-stages; the nearest multiples: " +
           (below > 0 ? std::to_string(below) + " and " : "") + std::to_string(below + unit);
}

Violation data_given(const Resolution& run) {
    const PretrainingSettings& own = own_of(run);
    if (are_made_up(own) || !own.text.files.empty() || run.settings().logging.profile) return {};
    return "no data: give --train-file, or --generated-data";
}

Violation evaluation_complete(const Resolution& run) {
    const PretrainingSettings& own = own_of(run);
    if (!own.evaluates) return {};
    if (!run.settings().training.init_path && !run.settings().main.restore_path)
        return "--evaluate needs --init-checkpoint, a checkpoint, or --restore-dir, the folder of a run";
    if (own.held_out_files || are_made_up(own)) return {};
    return "--evaluate needs --valid-file, the held-out sequences";
}

/// Evaluation only: in training, --restore-dir has precedence over --init-checkpoint, with which the run began.
Violation one_source_to_evaluate(const Resolution& run) {
    const bool both = run.settings().training.init_path && run.settings().main.restore_path;
    if (!own_of(run).evaluates || !both) return {};
    return "--evaluate: --init-checkpoint and --restore-dir are both given; choose one";
}

/// Backends without the option read the table as a whole.
Violation serialized_vocabulary(const Resolution& run) {
    if (run.settings().run.backend != backend::BackendKind::ipu) return {};
    const std::int64_t words = own_of(run).model.vocabulary;
    const std::int64_t slices = run.settings().ipu.matmul_serialize_factor;
    if (words % slices == 0) return {};
    return "--matmul-serialize-factor " + std::to_string(slices) + " must divide --vocab-size " + std::to_string(words);
}

Violation lengths_fit(const Resolution& run) {
    const PretrainingSettings& own = own_of(run);
    const std::int64_t length = own.text.sequence_length;
    if (own.text.max_predictions > length) {
        return "--max-predictions-per-seq " + std::to_string(own.text.max_predictions) +
               " is larger than --seq-length " + std::to_string(length);
    }
    if (length <= own.model.positions) return {};
    return "--seq-length " + std::to_string(length) + " is longer than the table of positions: raise " +
           "--max-position-embeddings " + std::to_string(own.model.positions);
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

Violation stages(const Resolution& run) {
    const nn::BertSettings& model = own_of(run).model;
    const Stages& stages = model.stages;
    if (stages.empty()) return {};
    if (stages.size() == 1) return "--pipeline-stages: expected at least 2 stages; leave it out for one";
    if (std::ranges::any_of(stages, [](const auto& stage) { return stage.empty(); }))
        return "--pipeline-stages: a stage has no functions";
    if (Violation order = stage_order(stages); !order.empty()) return order;
    if (count_of(stages, nn::kLayerToken) != model.layers) {
        return "--pipeline-stages has 'hid' " + std::to_string(count_of(stages, nn::kLayerToken)) +
               " times, but --num-hidden-layers is " + std::to_string(model.layers);
    }
    const std::int64_t parts = count_of(stages, nn::kWordsToken);
    if (parts == 0 || count_of(stages, nn::kMaskedWordsToken) != parts)
        return "--pipeline-stages must have 'emb' and 'mlm', the same number of times";
    for (const std::string_view token : {nn::kPositionsToken, nn::kSentencesToken}) {
        if (count_of(stages, token) != 1) return "--pipeline-stages must have '" + std::string(token) + "' once";
    }
    if (model.vocabulary % parts == 0) return {};
    return "--vocab-size " + std::to_string(model.vocabulary) + " cannot be split evenly over the " +
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

Violation devices(const Resolution& run) {
    const Stages& stages = own_of(run).model.stages;
    const std::vector<std::int64_t>& mapping = run.settings().training.device_mapping;
    if (mapping.empty() || stages.empty()) return {};
    if (mapping.size() != stages.size()) {
        return "--device-mapping has " + std::to_string(mapping.size()) + " devices for " +
               std::to_string(stages.size()) + " --pipeline-stages";
    }
    if (devices_of(stages, mapping, nn::kWordsToken) == devices_of(stages, mapping, nn::kMaskedWordsToken)) return {};
    return "--device-mapping: the stages of 'emb' and of 'mlm' share the table of words and must have the same device";
}

Violation save_folder(const Resolution& run) {
    if (!run.settings().logging.log_dir.empty()) return {};
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

Violation validation_data_given(const Resolution& run) {
    if (!run.settings().validation.any() || own_of(run).held_out_files || are_made_up(own_of(run))) return {};
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
    if (run.values.source("enable_recomputation") != Source::config || !run.settings().training.recomputation) return;
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
    if (own_of(run).evaluates) take_recorded_run(run, posix_files());
}

void adjust_pretraining(Resolution& run) {
    settle_global_batch(run);
    if (own_of(run).text.generated && run.values.given("train_file"))
        run.notices.emplace_back("--train-file is ignored: --generated-data is given");
    note_recomputation(run);
}

void check_pretraining(Resolution& run) {
    if (Violation missing = pretraining_sizes_given(run); !missing.empty()) {
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
    return !own_of(run).evaluates;
}

void complete_pretraining(Settings& settings, Resolution& /*run*/) {
    PretrainingSettings& own = settings.task.as<PretrainingSettings>();
    settings.training.pipeline = own.model.stages.size() > 1;
    settings.training.pipeline_splits = splits_of(own.model.stages);
    settle_bert(settings);
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
