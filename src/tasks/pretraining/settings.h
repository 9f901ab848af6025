// Settings of BERT's pretraining, in addition to those of every task.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cnntrain/data/pretraining.h"
#include "tasks/bert/settings.h"

namespace cnntrain::tasks {

struct PretrainingSettings : BertTaskSettings {
    data::PretrainingSettings text;
    double duplicate_factor = 5;     // times that each document stands in the files; an epoch is 1/N of the records
    bool synthetic = false;          // generated data with results reported as 0
    std::int64_t steps_per_log = 1;  // 0: only the first step's line
    std::int64_t steps_per_checkpoint = 256;  // 0: only the first and the last
    std::int64_t steps_per_histogram = 0;     // 0 or less: none
    bool evaluates = false;                   // evaluates checkpoints on held-out sequences instead of training
    std::optional<std::string> held_out_files;
};

inline const PretrainingSettings& pretraining_settings(const config::Settings& settings) {
    return settings.task.as<PretrainingSettings>();
}

}  // namespace cnntrain::tasks
