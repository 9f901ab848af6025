// Option rows of tasks with a BERT model: its sizes and layers, its learning rate, its optimisers.
#pragma once

#include <string>
#include <vector>

#include "cnntrain/graph/bert.h"
#include "cnntrain/graph/settings.h"
#include "cnntrain/options/settings.h"
#include "cnntrain/options/task_options.h"

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

}  // namespace cnntrain::tasks
