// Options that tasks share which train a pretrained BERT further on a user's texts: files, tokeniser, training, device.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/options/task_options.h"
#include "tasks/bert/bert.h"

namespace cnntrain::tasks {

struct FineTuningSettings : BertTaskSettings {
    std::string file = {};             // --data-dir
    std::string validation_file = {};  // empty: the task decides
    std::string vocabulary_file = {};
    bool lower_case = true;
    bool splits_special_tokens = false;
    std::int64_t sequence_length = 128;  // S
};

inline const FineTuningSettings& fine_tuning_settings(const options::Settings& settings) {
    return settings.task.as<FineTuningSettings>();
}

/// The rows in which such tasks differ.
struct FineTuningRows {
    std::string_view task;          // its name
    std::string_view data_group;    // title of the group with the options of the data
    std::vector<Option> data;       // without those of the tokeniser
    std::int64_t micro_batch_size;  // by default
    std::vector<Option> training;   // after those of the batch
    std::vector<Option> head = {};  // of training the last layer alone
};
/// All options of a task, in the order of the help text.
OptionSet fine_tuning_options(const FineTuningRows& rows);

/// --data-dir and --validation-file; the task gives their help.
std::vector<Option> fine_tuning_files(std::string_view data_help, std::string_view validation_help);
/// The task gives its fallback and help.
Option fine_tuning_length(std::int64_t fallback, std::string_view help);

// The steps from the values of these options to settings.

/// Fills in options that are not given: those of the run whose checkpoints are read, the model of --init-checkpoint,
/// the tokeniser that the files beside the vocabulary state, the length of the run.
void fill_fine_tuning(Resolution& run);
/// Rules between these options. `no_data`: the message without a data file; "" if there need not be one.
void check_fine_tuning(Resolution& run, const std::string& no_data);

}  // namespace cnntrain::tasks
