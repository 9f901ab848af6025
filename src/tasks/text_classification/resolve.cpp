#include "tasks/text_classification/resolve.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
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
#include "tasks/bert/resolve.h"
#include "tasks/recorded.h"
#include "tasks/text_classification/options.h"

namespace cnntrain::tasks {
namespace {

// Reads options from files beside a checkpoint, written by a run or by another program.

/// Takes the options of the model from the checkpoint with which training starts: from a run's arguments.json, or from
/// the config.json of Hugging Face's transformers. A vocab.txt beside it is the default vocabulary.
void take_recorded_model(options::Resolution& run, const FileSystem& files);

/// Sets --split-special-tokens, if nothing else did: special tokens of a vocabulary of transformers are kept whole,
/// unless its tokenizer_config.json says otherwise.
void choose_special_tokens(options::OptionValues& values, const FileSystem& files);

/// Transformers has an option of this name in tokenizer_config.json.
constexpr const char* kSplitSpecialTokens = "split_special_tokens";

bool is_of_model_or_vocabulary(const Option& option) {
    constexpr std::string_view kKeys[] = {"vocab_file", "do_lower_case", kSplitSpecialTokens};
    return is_of_model(option) || std::ranges::find(kKeys, key(option)) != std::end(kKeys);
}

/// True if tokenizer_config.json says that special tokens are split; transformers keeps them whole by default.
bool says_split(const std::string& text) {
    const auto document = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    return document.is_object() && document.value(kSplitSpecialTokens, nlohmann::json()) == true;
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
    if (const std::string words = file_beside(files, checkpoint, "vocab.txt");
        !words.empty() && !run.values.is_set("vocab_file"))
        run.values.set("vocab_file", words, Source::model);
}

void choose_special_tokens(OptionValues& values, const FileSystem& files) {
    if (!values.has(kSplitSpecialTokens) || values.source(kSplitSpecialTokens) != Source::default_value) return;
    const std::string vocabulary = text_settings(values.settings()).text.vocabulary_file;
    // A run of an earlier version, which records no choice, divided them.
    bool splits = values.source("vocab_file") == Source::arguments;
    if (!splits) {
        const auto beside = [&](const char* name) { return file_beside(files, vocabulary, name); };
        const std::string tokeniser = beside("tokenizer_config.json");
        const bool of_transformers =
            !tokeniser.empty() || !beside("config.json").empty() || !beside("tokenizer.json").empty();
        splits = !of_transformers || (!tokeniser.empty() && says_split(read_text(files, tokeniser)));
    }
    values.set(kSplitSpecialTokens, splits, Source::adjusted);
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
    choose_special_tokens(run.values, posix_files());
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
