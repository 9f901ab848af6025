// Option rows of tasks with a BERT model: its sizes and layers, its learning rate, its optimisers.
#pragma once

#include <vector>

#include "cnntrain/config/shared_options.h"
#include "tasks/bert/settings.h"

namespace cnntrain::tasks {

using namespace config;  // rows read as they do there

inline constexpr Range kBertWidth = between(1, 1 << 20);  // of a layer, rows of a table

std::vector<Option> bert_size_options();
std::vector<Option> bert_layer_options();
/// With these two go set_bert_optimiser() and bert_rate_rules() of resolve.h.
std::vector<Option> bert_rate_options();
std::vector<Option> bert_optimiser_options();
/// The lesser switches of adamw and lamb.
std::vector<Option> bert_optimiser_details();

}  // namespace cnntrain::tasks
