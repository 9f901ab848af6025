// The option rows of text classification.
#pragma once

#include <string>

#include "cnntrain/data/sets.h"
#include "cnntrain/options/task_options.h"
#include "tasks/bert/bert.h"

namespace cnntrain::tasks {

// Settings of text classification, in addition to those of every task.

struct TextSettings : BertTaskSettings {
    data::LabelledTextSettings text;   // the training file
    std::string validation_file = {};  // empty: a share of the training file is held out
    double validation_fraction = 0.1;  // that share
    double head_dropout = 0.1;         // dropout rate of the pooled output
};

inline const TextSettings& text_settings(const options::Settings& settings) {
    return settings.task.as<TextSettings>();
}

inline constexpr std::string_view kTextsGroup = "Texts";  // title of a group

/// All options, in the order of the help text.
const OptionSet& text_options();

// The steps from the values of text classification's options to its settings.

/// Fills in options that are not given: those of the run whose checkpoints are read, the model of --init-checkpoint,
/// the length of the run.
void fill_text_options(Resolution& run);
/// Rules between options.
void check_text_options(Resolution& run);
/// Sets members that depend on several options.
void complete_text_settings(Settings& settings, Resolution& run);

}  // namespace cnntrain::tasks
