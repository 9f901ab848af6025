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
#include "cnntrain/base/numbers.h"
#include "cnntrain/base/processor.h"
#include "cnntrain/base/text.h"
#include "cnntrain/options/commands.h"
#include "cnntrain/options/parse.h"
#include "tasks/bert/bert.h"
#include "tasks/task_table.h"

namespace cnntrain::tasks {
namespace {

constexpr const char* kAccumulation = "gradient_accumulation_count";
constexpr const char* kGlobalBatch = "global_batch_size";

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
    std::erase_if(needed, [&](const char* key) { return run.values.is_set(key); });
    if (needed.empty()) return {};
    const std::string missing = joined(needed, ", ", [&](const char* key) { return run.values.option(key).flag; });
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
    return "--gradient-accumulation-count " + std::to_string(count) + " is not a multiple of " + std::to_string(unit) +
           ", twice the number of --pipeline-stages; the nearest multiples: " +
           joined(multiples_near(unit, count), " and ");
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

/// The words' table may be cut into parts, each with its scores.
Violation stages(const Resolution& run) {
    const nn::BertSettings& model = own_of(run).model;
    if (model.stages.empty()) return {};
    if (Violation order = stage_order(model, {nn::kMaskedWordsToken, nn::kSentencesToken}); !order.empty())
        return order;
    const std::int64_t parts = count_of(model.stages, nn::kWordsToken);
    if (parts == 0 || count_of(model.stages, nn::kMaskedWordsToken) != parts)
        return "--pipeline-stages must have 'emb' and 'mlm', the same number of times";
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
    drop_empty_texts(run, {"init_checkpoint", "restore_dir", "train_file", "valid_file", "logs_path"});
    if (own_of(run).evaluates) take_recorded_run(run, posix_files());
}

void adjust_pretraining(Resolution& run) {
    settle_global_batch(run);
    note_group_bert(run);
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

}  // namespace cnntrain::tasks
