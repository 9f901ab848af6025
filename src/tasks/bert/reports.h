// Descriptions of the network and the learning rate for tasks with a BERT model.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cnntrain/config/parse.h"
#include "cnntrain/schedule/run_plan.h"
#include "cnntrain/train/task.h"
#include "tasks/bert/settings.h"

namespace cnntrain::tasks {

/// For file names: "bert12x768".
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
std::vector<train::Topic> bert_rate_topics(const config::ParseResult& arguments, const schedule::RunPlan& plan);

}  // namespace cnntrain::tasks
