// Parses the commands that train or evaluate, and runs them with the task they are for.
//
//   auto arguments = parse_command_line(Command::train, words, process_environment());
//   return run(arguments, host);
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/io.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/task.h"
#include "cnntrain/weights/checkpoint.h"
#include "cnntrain/weights/exports.h"

namespace cnntrain::tasks {

/// The row of the task that the arguments were parsed for.
const run::TaskRow& row_of(const options::ParseResult& arguments);

/// Parses for the task named by --task; otherwise for that of the run in --restore-path (validation, inference);
/// otherwise for the first task that serves the command. Throws Error(usage) like options::parse_command_line(), and
/// for a task that does not exist or does not serve the command.
options::ParseResult parse_command_line(options::Command command, const std::vector<std::string>& arguments,
                                        const options::Environment& environment,
                                        const FileSystem& files = posix_files());
/// The options of each task that serves the command; none if tasks do not.
struct TaskPage {
    std::string_view task;
    options::HelpPage page;
};
std::vector<TaskPage> help_pages(options::Command command, std::string_view called);

/// True if tasks parse and run this command.
bool serves(options::Command command);
/// The commands with which tasks train: the first one of each task, without duplicates.
std::vector<options::Command> training_commands();

/// True if two flags of `train` mean the same (options::takes_place_of) in any task.
bool takes_place_of(std::string_view flag, std::string_view other);

/// The options of the run named by the restore line, overridden by the line's own. Throws Error(not_found) if the
/// folder has no run.
options::ParseResult restored_arguments(const options::ParseResult& restore_line, const FileSystem& files);

// Functions of run/runs.h, for the task of the arguments.
int run_restored(const options::ParseResult& restore_line, const run::Host& host);
/// Executes the arguments' command: training, validation or inference.
int run(const options::ParseResult& arguments, const run::Host& host);
std::string dry_run_text(const options::ParseResult& arguments);

// Facts about an image network from which another program can compute the same for a photo.

/// Empty for other tasks. Reads the data if only they say how many classes there are.
std::optional<weights::ImageNetwork> image_network(const options::ParseResult& arguments);

// A trained network, opened to be exported: its graph in 32 bits, its weights, and what it answers on some samples.

struct OpenRequest {
    std::string run;                        // a run's folder, one of its checkpoints, or a file of weights
    std::vector<std::string> options = {};  // of `inference`, that win over the run's
    bool compares = true;                   // false: no sample is read, and outputs() is empty
};

class TrainedNetwork {
public:
    /// Error(usage, data, not_found) as `inference --restore-path` has it.
    TrainedNetwork(const FileSystem& files, const OpenRequest& request);
    ~TrainedNetwork();
    TrainedNetwork(const TrainedNetwork&) = delete;
    TrainedNetwork& operator=(const TrainedNetwork&) = delete;

    /// The network as a value. It refers to this object.
    weights::ExportedNetwork exported(const FileSystem& files);

    /// The network's outputs by name for some samples, with which a written file is compared.
    const weights::Outputs& outputs() const { return outputs_of_samples_; }
    /// "64 samples of the validation set", "64 generated samples"
    std::string samples_text() const;
    /// The outputs of the same network with other weights, in any layout that is read here. `path`: for messages.
    weights::Outputs answers(weights::Checkpoint weights, const std::string& path);

private:
    void parse(const OpenRequest& request, bool made_up);
    void make_task(const std::vector<std::string>& words);
    void parse_pretraining(const std::string& run, const FileSystem& files);
    void open_classifier(const OpenRequest& request);
    /// Error(data) if the samples cannot be read.
    void open_samples();
    void make_up_samples();
    bool image_network_or_none() const;
    void find_ports();
    void find_scores();
    weights::Outputs answers();

    std::unique_ptr<options::ParseResult> arguments_;
    std::unique_ptr<backend::Backend> backend_;
    std::unique_ptr<run::Task> task_;
    std::string checkpoint_;
    std::string samples_text_;
    std::vector<data::Field> fields_;
    std::vector<std::vector<HostTensor>> batches_;  // of the stream, by field
    std::unique_ptr<graph::Graph> graph_;
    std::unique_ptr<backend::Executable> executable_;
    std::map<std::string, HostTensor> variables_;
    std::vector<weights::Port> inputs_;
    std::vector<weights::FixedInput> fixed_;
    std::vector<weights::Port> outputs_;
    std::int64_t sample_count_ = 0;
    weights::Outputs outputs_of_samples_;
};

}  // namespace cnntrain::tasks
