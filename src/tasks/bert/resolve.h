// Rules and settings of the options of tasks with a BERT model.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cnntrain/options/parse.h"
#include "cnntrain/options/task_options.h"
#include "cnntrain/parallel/run_plan.h"
#include "cnntrain/run/task.h"
#include "tasks/bert/options.h"

namespace cnntrain::tasks {

/// Rules of bert_size_options().
const std::vector<Rule>& bert_model_rules();
/// Rules of bert_rate_options(), for training.
const std::vector<Rule>& bert_rate_rules();

/// Sets the members that depend on several options: update rule, schedule, precision. With --backend ipu, --precision
/// 16 means 16-bit weights.
void settle_bert(Settings& settings);

/// Number of words in data files. A table of 30400 rows leaves out the last words of the published vocabulary.
std::int64_t bert_words_in_files(std::int64_t table_rows);

/// Replicas of all processes.
std::int64_t bert_replicas(const Settings& settings);

/// A row of inference for the console.
std::string bert_line(const metrics::InferenceRow& row);

// Descriptions of the network and the learning rate for tasks with a BERT model.

/// Name of the network in file names: "bert12x768".
std::string bert_name(const nn::BertSettings& model);
/// "BERT of 12 layers".
std::string bert_title(const nn::BertSettings& model);
/// " 12 layers, 768 wide, 12 attention heads, vocabulary of 30400".
std::string bert_sizes(const nn::BertSettings& model);

/// TaskDescription::work of training.
std::map<std::string, std::string> bert_work(const nn::BertSettings& model, std::int64_t sequence_length);

/// The learning rate by HostStep::lr_iteration.
std::function<double(std::int64_t)> bert_learning_rate(const BertTaskSettings& settings, const schedule::RunPlan& plan);
/// Optimiser, schedule, and the rates of the first and last step and of the quarters of the run.
std::vector<run::Topic> bert_rate_topics(const options::ParseResult& arguments, const schedule::RunPlan& plan);

}  // namespace cnntrain::tasks
