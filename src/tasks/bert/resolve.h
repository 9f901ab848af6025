// Rules and settings of the options of tasks with a BERT model.
#pragma once

#include <cstdint>
#include <vector>

#include "cnntrain/config/task_options.h"
#include "tasks/bert/options.h"

namespace cnntrain::tasks {

/// Rules of bert_size_options().
const std::vector<Rule>& bert_model_rules();
/// Rules of bert_rate_options(), for training.
const std::vector<Rule>& bert_rate_rules();

/// Set members that depend on several options.
void set_bert_rate(optim::StepRateSettings& rate, const OptionValues& values);
/// With --backend ipu, --precision 16 means 16-bit weights.
void set_bert_precision(Settings& settings, const OptionValues& values);
void set_bert_optimiser(optim::OptimiserSettings& optimiser, const OptionValues& values);

/// Number of words in data files. A table of 30400 rows leaves out the last words of the published vocabulary.
std::int64_t bert_words_in_files(std::int64_t table_rows);

/// Replicas of all processes.
std::int64_t bert_replicas(const OptionValues& values);

}  // namespace cnntrain::tasks
