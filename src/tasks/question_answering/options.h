// The option rows of question answering.
#pragma once

#include <cstdint>
#include <string>

#include "cnntrain/data/questions.h"
#include "tasks/bert/fine_tuning.h"

namespace cnntrain::tasks {

// Settings of question answering, in addition to those of every task.

struct AnsweringSettings : FineTuningSettings {
    data::QuestionSettings questions;  // of the training file
    data::AnswerSettings answers;
    bool generated = false;  // made-up questions instead of files
    std::int64_t generated_count = 1'000'000;
    std::string feature_folder = {};  // where features are written for other programs; "": nowhere
};

inline const AnsweringSettings& answering_settings(const options::Settings& settings) {
    return settings.task.as<AnsweringSettings>();
}

/// All options, in the order of the help text.
const OptionSet& answering_options();

// The steps from the values of these options to settings, after those of fine-tuning.

void fill_answering(Resolution& run);
void check_answering(Resolution& run);
void complete_answering(Settings& settings, Resolution& run);

}  // namespace cnntrain::tasks
