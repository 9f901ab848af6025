// What BERT's pretraining lets the user say beyond what every task has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/data/pretraining_settings.h"
#include "tasks/bert/settings.h"

namespace cnntrain::tasks {

struct PretrainingSettings : BertTaskSettings {
    data::PretrainingSettings text;
    double duplicate_factor = 5;              // how often the files have every document: an epoch is that part of them
    bool synthetic = false;                   // generated data, whose results are told as 0
    std::int64_t steps_per_log = 1;           // 0: the first step's line only
    std::int64_t steps_per_checkpoint = 256;  // 0: the first and the last only
    std::int64_t steps_per_histogram = 0;     // 0 or less: none
    bool evaluates = false;                   // checkpoints on held-out sequences, and trains nothing
    std::optional<std::string> held_out_files;
};

inline const PretrainingSettings& pretraining_settings(const config::Settings& settings) {
    return settings.task.as<PretrainingSettings>();
}

}  // namespace cnntrain::tasks
