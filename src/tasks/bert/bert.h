// Option rows of tasks with a BERT model: its sizes and layers, its learning rate, its optimisers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cnntrain/data/dataset.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/graph/bert.h"
#include "cnntrain/graph/settings.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/options/settings.h"
#include "cnntrain/options/task_options.h"
#include "cnntrain/parallel/run_plan.h"
#include "cnntrain/run/task.h"

namespace cnntrain::tasks {

// Settings of tasks with a BERT model, in addition to those of every task.

/// Base of a task's settings.
struct BertTaskSettings : options::OwnSettings {
    nn::BertSettings model;
    optim::StepRateSettings learning_rate;
    // Choices by their names in the original programs; settle_bert() derives members of Settings from them.
    std::string optimizer = "momentum";
    std::string lr_schedule = "polynomial_decay";
    std::string precision = "16";
    bool debiases = false;         // adamw, lamb: means that start at 0
    bool divides_by_norm = false;  // lamb: gradients, if their global norm is above 1
    bool limits_norm = false;      // lamb: the global norm of gradients, to the number of replicas
};

inline const BertTaskSettings& bert_settings(const options::Settings& settings) {
    return settings.task.as<BertTaskSettings>();
}

using namespace options;  // so that rows read as in the room options

inline constexpr std::string_view kPolynomialName = "polynomial";    // other names of polynomial_decay and
inline constexpr std::string_view kExponentialName = "exponential";  // natural_exponential

inline constexpr Range kBertWidth = between(1, 1 << 20);  // width of a layer, rows of a table

/// Title of the group with the options of the network.
inline constexpr std::string_view kModelGroup = "BERT";
inline bool is_of_model(const Option& option) {
    return option.group == kModelGroup;
}

std::vector<Option> bert_size_options();
/// Embeddings and encoder.
std::vector<Option> bert_layer_options();
/// The task binds these two rows to its settings.
Option bert_length_option();
Option bert_classifier_dropout_option();
/// resolve.h has their rules, bert_rate_rules(), and settle_bert().
std::vector<Option> bert_rate_options();
std::vector<Option> bert_optimiser_options();
/// Further switches of adamw and lamb.
std::vector<Option> bert_optimiser_details();
std::vector<Option> bert_numerics_options();

// Sequences of tokens as the samples of a task with a BERT model.

/// run::dataset_samples() with the positions of tokens, which are added if the data set has none.
std::unique_ptr<run::Samples> bert_samples(std::shared_ptr<const data::Dataset> dataset, data::Split split,
                                           std::uint64_t seed);

// Rules and settings of the options of tasks with a BERT model.

/// Rules of bert_size_options().
const std::vector<Rule>& bert_model_rules();
/// Rules of bert_rate_options(), for training.
const std::vector<Rule>& bert_rate_rules();

/// Sets the members that depend on several options: update rule, schedule, precision. With --backend ipu, --precision
/// 16 means 16-bit weights.
void settle_bert(Settings& settings);

/// Adds the line that the original programs log at the start if the model is GroupBERT.
void note_group_bert(Resolution& run);

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
