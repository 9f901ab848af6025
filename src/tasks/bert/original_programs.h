// Options and configurations that are common to the original BERT programs: run_pretraining.py, run_squad.py,
// run_classifier.py.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/graph/bert.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/options/task_options.h"
#include "tasks/bert/bert.h"

namespace cnntrain::tasks {

using Stages = std::vector<std::vector<std::string>>;

/// Reduction and details of optimisers.
std::vector<Option> original_training_options();
/// --pipeline-stages and --device-mapping.
std::vector<Option> original_stage_options();
/// Options that steer the IPUs' compiler.
std::vector<Option> original_ipu_options();

/// An empty value of these options removes a configuration's value.
void drop_empty_texts(Resolution& run, std::initializer_list<std::string_view> keys);

std::int64_t count_of(const Stages& stages, std::string_view token);
/// Stages have functions, and these are in the order of the data: emb..., pos, hid..., then `heads`. All layers are
/// there, pos and the last head once.
Violation stage_order(const nn::BertSettings& model, const std::vector<std::string_view>& heads);
/// The functions with which stages begin, numbered as in nn::bert_functions().
std::vector<std::string> splits_of(const Stages& stages);

/// A configuration is a JSON file with the options' keys. `config` as typed: a path, or a name with or without folder
/// and ".json", which is searched for in the folders and in their sub-folder bert. Names from older documents are
/// accepted, and paths with trailing text after misplaced quotation marks. `task`: as the configuration calls it.
/// Error(usage) with the nearest name if there is no such file, or if it is of another task.
options::NamedConfig read_bert_config(const OptionSet& options, const std::string& config,
                                      const options::Environment& environment, std::string_view task);

/// The names in the folders, sorted, without ".json".
std::vector<std::string> bert_config_names(const std::vector<std::string>& folders);

}  // namespace cnntrain::tasks
