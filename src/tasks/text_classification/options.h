// The option rows of text classification.
#pragma once

#include <string>

#include "cnntrain/data/sets.h"
#include "cnntrain/options/task_options.h"
#include "tasks/bert/fine_tuning.h"

namespace cnntrain::tasks {

// Settings of text classification, in addition to those of every task.

struct TextSettings : FineTuningSettings {
    data::LabelledTextSettings text;   // the training file
    double validation_fraction = 0.1;  // of the training file, held out without a validation file
    double head_dropout = 0.1;         // dropout rate of the pooled output
    std::string glue = {};             // name of GLUE's task, whose files are in the folder `file`; "": a file
    bool generated = false;            // made-up pairs of texts
};

inline const TextSettings& text_settings(const options::Settings& settings) {
    return settings.task.as<TextSettings>();
}

/// All options, in the order of the help text.
const OptionSet& text_options();

// The steps from the values of text classification's options to its settings.

void fill_text_options(Resolution& run);
/// Rules between options.
void check_text_options(Resolution& run);
/// Sets members that depend on several options.
void complete_text_settings(Settings& settings, Resolution& run);

}  // namespace cnntrain::tasks
