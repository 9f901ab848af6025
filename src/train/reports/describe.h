// What a run says about itself before it begins: summary block, option dictionary, derived values, list of variables.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "cnntrain/config/parse.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/schedule/run_plan.h"
#include "cnntrain/train/task.h"
#include "train/runs/run_folder.h"

namespace cnntrain::train {

/// Facts of this process and run that the options do not hold.
struct RunFacts {
    RunFolder folder;
    std::string hostname;
    std::string datetime;  // local time, "2026-01-31 12:34:56"
    bool restoring = false;
};

RunFacts gather_facts(RunFolder folder, bool restoring);

/// The arguments with the seed that was drawn because none was given.
config::ParseResult with_seed(config::ParseResult arguments, std::int64_t seed);

/// Data and weights named by paths from the root, so that the recorded run can go on from any folder.
config::ParseResult with_absolute_paths(config::ParseResult arguments);

/// Rather than drawn, by this run or by the one that it resumes.
bool seed_was_given(const config::ParseResult& arguments);

/// The block that a run prints about itself at its start. `plan` is absent where nothing is trained.
std::string summary_block(const config::ParseResult& arguments, const TaskDescription& task, const RunFacts& facts,
                          const schedule::RunPlan* plan);

/// The keys that arguments.json has beyond the options. `validation_samples`: of a validation, if there is one.
std::map<std::string, config::Value> derived_arguments(const config::ParseResult& arguments,
                                                       const TaskDescription& task, const RunFacts& facts,
                                                       std::optional<std::int64_t> validation_samples);

/// An arguments.json on one line, without the summary block.
std::string option_dictionary(const std::string& arguments_json);

/// "Trainable Variables:" and everything that follows it.
std::string variable_list(const graph::Graph& graph);

}  // namespace cnntrain::train
