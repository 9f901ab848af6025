// Settings of text classification, in addition to those of every task.
#pragma once

#include <string>

#include "cnntrain/data/labelled_text.h"
#include "tasks/bert/settings.h"

namespace cnntrain::tasks {

struct TextSettings : BertTaskSettings {
    data::LabelledTextSettings text;   // the training file
    std::string validation_file = {};  // empty: a share of the training file is held out
    double validation_fraction = 0.1;  // that share
    double head_dropout = 0.1;         // dropout rate of the pooled output
};

inline const TextSettings& text_settings(const config::Settings& settings) {
    return settings.task.as<TextSettings>();
}

}  // namespace cnntrain::tasks
