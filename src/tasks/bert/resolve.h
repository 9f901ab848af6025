// What tasks with a BERT model do with the values of its options.
#pragma once

#include <cstdint>
#include <vector>

#include "cnntrain/config/task_options.h"
#include "tasks/bert/options.h"

namespace cnntrain::tasks {

/// Rules of bert_size_options().
const std::vector<Rule>& bert_model_rules();
/// Rules of bert_rate_options(), where something is trained.
const std::vector<Rule>& bert_rate_rules();

/// Members that several options decide.
void set_bert_rate(optim::StepRateSettings& rate, const OptionValues& values);
void set_bert_optimiser(optim::OptimiserSettings& optimiser, const OptionValues& values);

/// Words that texts may have: the published vocabulary has more than a table of 30400 rows, which leaves out the last.
std::int64_t bert_words_in_files(std::int64_t table_rows);

/// Of all processes.
std::int64_t bert_replicas(const OptionValues& values);

}  // namespace cnntrain::tasks
