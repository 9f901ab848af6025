// Reads arguments.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/options/parse.h"

namespace cnntrain::options {

/// A JSON list or object without blanks. Throws Error(data) for any other text.
std::string compact_json(std::string_view text);

/// True if arguments.json records that the seed was drawn because none was given.
bool seed_was_drawn(std::string_view text);

/// The recorded number of processes; 1 if it is not recorded.
std::int64_t recorded_processes(std::string_view text);

// The options of a run that evaluations of its checkpoints take from its record.

/// True if an evaluation by one of `commands` takes the recorded value (Option::recorded).
bool is_of_evaluation(const Option& option, std::uint32_t commands);

/// The recorded values that `command` takes. A damaged record gives none and a notice.
Layer recorded_layer(const TaskOptions& task, Command command, const RecordedRun& run,
                     std::vector<std::string>& notices);

/// Removes the recorded values whose alternatives `given` has: of --batch-norm and --group-norm, one counts.
void leave_to(const TaskOptions& task, const Layer& given, Layer& recorded);

/// One notice for each option that changes the numbers of the evaluation and has another value than the run's.
void notice_differences(const Layer& recorded, Resolution& run);

}  // namespace cnntrain::options
