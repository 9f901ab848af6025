#include "tasks/text_classification/resolve.h"

#include <string>
#include <utility>
#include <vector>

#include "cnntrain/base/text.h"
#include "tasks/bert/resolve.h"
#include "tasks/text_classification/recorded.h"

namespace cnntrain::tasks {
namespace {

Violation text_sizes_given(const OptionValues& values) {
    std::vector<std::string> missing;
    for (const char* key :
         {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"}) {
        if (!values.is_set(key)) missing.emplace_back(values.at(key).option->flag);
    }
    if (missing.empty()) return {};
    return "the model's sizes are not known: give --init-checkpoint (or --restore-path) with an arguments.json or a "
           "config.json beside it, or " +
           listed(missing);
}

Violation texts_given(const OptionValues& values) {
    if (!values.text("data_dir").empty()) return {};
    return "no texts: give --data-dir, a TSV or CSV file of texts and labels";
}

Violation vocabulary_given(const OptionValues& values) {
    if (!values.text("vocab_file").empty()) return {};
    return "no vocabulary: give --vocab-file, the vocabulary with which the model was trained";
}

Violation length_fits(const OptionValues& values) {
    const std::int64_t length = values.integer("seq_length");
    const std::int64_t positions = values.integer("max_position_embeddings");
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
    if (Violation missing = text_sizes_given(run.values); !missing.empty()) {
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
    set_bert_rate(own.learning_rate, run.values);
    set_bert_optimiser(settings.optimiser, run.values);
    set_bert_precision(settings, run.values);
    own.text.vocabulary_size = bert_words_in_files(own.model.vocabulary);
    own.text.type_vocabulary = own.model.segment_types;
}

}  // namespace cnntrain::tasks
