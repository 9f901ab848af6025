// The option rows of pretraining.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/data/sets.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/options/task_options.h"
#include "tasks/bert/bert.h"
#include "tasks/bert/original_programs.h"

namespace cnntrain::tasks {

// Settings of BERT's pretraining, in addition to those of every task.

struct PretrainingSettings : BertTaskSettings {
    data::PretrainingSettings text;
    double duplicate_factor = 5;     // times that each document stands in the files; an epoch is 1/N of the records
    bool synthetic = false;          // generated data with results reported as 0
    std::int64_t steps_per_log = 1;  // 0: only the first step's line
    std::int64_t steps_per_checkpoint = 256;  // 0: only the first and the last
    std::int64_t steps_per_histogram = 0;     // 0 or less: none
    bool evaluates = false;                   // evaluates checkpoints on held-out sequences instead of training
    std::optional<std::string> held_out_files;
    std::int64_t global_batch_size = 0;  // sequences of a weight update; 0: as many as the micro-batches have
};

inline const PretrainingSettings& pretraining_settings(const options::Settings& settings) {
    return settings.task.as<PretrainingSettings>();
}

// The groups of its own options; one file or part of a file each.
std::vector<Option> pretraining_main_options();
std::vector<Option> pretraining_model_options();
std::vector<Option> pretraining_data_options();
std::vector<Option> pretraining_training_options();
std::vector<Option> pretraining_ipu_options();
std::vector<Option> pretraining_logging_options();

/// All options, in the order of the help text.
const OptionSet& pretraining_options();

// The steps from the values of pretraining's options to its settings.

/// The number of micro-batches per weight update must be a multiple of this. As in the original programs, it depends on
/// the number of stages but not on the schedule.
std::int64_t micro_batch_unit(std::int64_t stages);

void fill_pretraining(Resolution& run);
void adjust_pretraining(Resolution& run);
void check_pretraining(Resolution& run);
bool pretraining_trains(const Resolution& run);
void complete_pretraining(Settings& settings, Resolution& run);

}  // namespace cnntrain::tasks
