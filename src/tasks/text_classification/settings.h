// What text classification lets the user say beyond what every task has.
#pragma once

#include <string>

#include "cnntrain/data/labelled_text_settings.h"
#include "tasks/bert/settings.h"

namespace cnntrain::tasks {

struct TextSettings : BertTaskSettings {
    data::LabelledTextSettings text;   // of the training's file
    std::string validation_file = {};  // empty: a share of the training's file is held out
    double validation_fraction = 0.1;  // that share
    double head_dropout = 0.1;         // share of the pooled output that is dropped in front of the classes
};

inline const TextSettings& text_settings(const config::Settings& settings) {
    return settings.task.as<TextSettings>();
}

}  // namespace cnntrain::tasks
