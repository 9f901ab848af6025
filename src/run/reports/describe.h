// A run's description of itself: summary block, option dictionary, derived values, list of variables.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "cnntrain/base/elapsed.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/parallel/run_plan.h"
#include "cnntrain/run/observer.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/task.h"
#include "run/run_files.h"

namespace cnntrain::run {

/// Facts about this process and run that are not options.
struct RunFacts {
    RunFolder folder;
    std::string hostname;
    std::string datetime;  // local time, such as "2026-01-31 12:34:56"
    bool restoring = false;
    bool names_ipus = true;  // lines about IPUs that say nothing on a processor are printed, too
};

RunFacts gather_facts(RunFolder folder, bool restoring);
/// True on IPUs, and where programs parse the log.
bool names_ipus(const options::Settings& settings, const Host& host);

/// The arguments with a drawn seed, if none was given.
options::ParseResult with_seed(options::ParseResult arguments, std::int64_t seed);

/// Makes the paths of data and weights absolute, so that the run can be resumed from any folder.
options::ParseResult with_absolute_paths(options::ParseResult arguments);

/// True if the seed was given; false if it was drawn, by this run or by the one it resumes.
bool seed_was_given(const options::ParseResult& arguments);

/// The block that a run prints at its start. `plan` is null if nothing is trained. `checkpoints`: number and size; "":
/// no line about them.
std::string summary_block(const options::ParseResult& arguments, const TaskDescription& task, const RunFacts& facts,
                          const schedule::RunPlan* plan, const std::string& checkpoints = "");

/// The keys of arguments.json that are not options. `validation_samples`: number of samples, if there is a validation.
std::map<std::string, options::Value> derived_arguments(const options::ParseResult& arguments,
                                                        const TaskDescription& task, const RunFacts& facts,
                                                        std::optional<std::int64_t> validation_samples);

/// An arguments.json on one line, without the summary block.
std::string option_dictionary(const std::string& arguments_json);

/// The text that begins with "Trainable Variables:".
std::string variable_list(const graph::Graph& graph);

// Tells that other programs take the processors on which a training's threads wait for each other.

/// The warning, for a run with this many compute threads on this many processors; "" if there is no reason for one, or
/// nothing to change.
std::string busy_machine_warning(const Competition& found, int threads, int processors);

/// Looks after the first seconds of training, and then once in a minute until it has warned.
class BusyMachine final : public metrics::Handles<BusyMachine> {
public:
    /// `warn` is called once at most.
    BusyMachine(int threads, int processors, std::function<void(const std::string&)> warn);

    void handle(const metrics::Progress& progress);

private:
    int threads_;
    int processors_;
    std::function<void(const std::string&)> warn_;
    std::optional<ProcessorTimes> since_;
    double window_seconds_;
    double next_look_ = 0;
};

}  // namespace cnntrain::run
