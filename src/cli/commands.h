// The entry points of the commands: one function each.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags.h"
#include "cnntrain/base/error.h"
#include "cnntrain/options/commands.h"
#include "cnntrain/options/line.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/parallel/communicator.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/tasks/tasks.h"
#include "cnntrain/weights/checkpoint.h"
#include "cnntrain/weights/hugging_face.h"

namespace cnntrain::cli {

/// The words of one call of the program.
struct Invocation {
    std::vector<std::string> arguments;  // the words after the command
    std::string command_line;            // the whole command line as typed
    std::string command;                 // the command's word: "dataset", "some/path/imagenet_to_gcs.py"
    std::string program = "cnntrain";    // as typed
};

/// The program name to show in help: "cnntrain train", or "train.py" if the user typed a script's name.
std::string called(const Invocation& invocation);

/// Each command function returns the exit code of the process and may throw Error.
/// A command that tasks implement.
int task_command(options::Command command, const Invocation& invocation);
int restore_command(const Invocation& invocation);
int average_command(const Invocation& invocation);
int analyse_command(const Invocation& invocation);
int convert_command(const Invocation& invocation);
int dataset_command(const Invocation& invocation);
int benchmark_command(const Invocation& invocation);
int plan_command(const Invocation& invocation);
int quantise_command(const Invocation& invocation);
int report_command(const Invocation& invocation);
int weights_command(const Invocation& invocation);
int demo_command(const Invocation& invocation);
int profile_command(const Invocation& invocation);
int resnet_main_command(const Invocation& invocation);  // resnet_recipe.h
int resnet_eval_command(const Invocation& invocation);
int poprun_command(const Invocation& invocation);
/// Becomes this program, as an instance of poprun.
int poprun_instance(const std::vector<std::string>& program);

// The kinds of `cnntrain dataset <kind>`; dataset.cpp has the table. Each function returns the exit code of the
// process and may throw Error.
int dataset_bert(const Flags& flags);
int dataset_imagenet(const Flags& flags);
int dataset_inspect(const Flags& flags);
int dataset_verify(const Flags& flags);
int dataset_suspects(const Flags& flags);

// The flags of these commands.
CommandFlags average_flags();
CommandFlags analyse_flags();
CommandFlags convert_flags();
CommandFlags demo_flags();
CommandFlags plan_flags();
CommandFlags profile_flags();
CommandFlags quantise_flags();
CommandFlags report_flags();
CommandFlags weights_flags();
CommandFlags resnet_main_flags();
CommandFlags resnet_eval_flags();
CommandFlags dataset_bert_flags();
CommandFlags dataset_imagenet_flags();
CommandFlags dataset_inspect_flags();
CommandFlags dataset_suspects_flags();
CommandFlags dataset_verify_flags();
options::HelpPage benchmark_page(const std::string& called);

/// A kind of `cnntrain dataset`.
struct DatasetKind {
    std::string_view name;
    std::string_view script;  // original script for the same job; empty if there is none
    std::string_view help;
    CommandFlags (*flags)();
    int (*run)(const Flags& flags);
};
std::span<const DatasetKind> dataset_kinds();

/// Prints an error to standard error. Returns the exit code for `kind`.
int print_error(const std::string& message, ErrorKind kind);

/// Runs the whole program. `words`: argv[1], argv[2], ... Errors are printed to standard error.
int run_program(const std::string& program, const std::vector<std::string>& words);

// `cnntrain convert RUN [OUT] --to FORMAT`: writes a trained network for other programs.

/// The rows of this use of the command, and --to.
std::vector<Flag> run_flags();

/// Returns the exit code.
int convert_run(const Flags& flags);

/// Checks a line without RUN, where --to is a path: Error(usage) if it is the name of a format, or an option of RUN is
/// given.
void refuse_format_of_file(const Flags& flags);

// ---- RUN --to hf: a folder for transformers, which convert.cpp writes ----

bool wants_hugging_face(const Flags& flags);
weights::Found checkpoint_of_run(const Flags& flags);
/// The model.safetensors in OUT, or in hf/ beside the checkpoint.
std::string hugging_face_target(const Flags& flags, const std::string& checkpoint);
/// Error(unsupported) unless it is a BERT in this program's layout.
void refuse_for_hugging_face(const weights::Checkpoint& source, const std::string& path);
/// The network of the run.
std::unique_ptr<tasks::TrainedNetwork> open_run(const Flags& flags, const weights::Checkpoint& source);
/// Writes model.safetensors, the first of the paths, and the files beside it if their variables and answers are the
/// run's: weights::write_if_same(). Returns lines for the user.
std::string write_compared(tasks::TrainedNetwork& network, const std::vector<std::string>& paths,
                           const weights::Converted& written, const std::map<std::string, HostTensor>& variables,
                           const std::function<void(FileSystem&)>& write);

// Common steps of the commands that run a model.

/// The folder of published weights, which are fetched unless they are in the cache; "" where the name is a path or
/// unknown. Error(usage) for a near miss of a name.
std::string find_weights(const options::WeightsWish& wish, const std::vector<std::string>& config_folders,
                         const std::string& command_line);

/// The host with this process's console, terminal and stop signal.
run::Host process_host(const Invocation& invocation);

/// Error(unsupported) if the machine has too little memory for threads and libraries. Called before OpenMP and other
/// libraries are used, because some of them end the process when allocation fails.
void require_run_memory(const options::Settings& settings, options::Command command);

/// Throws Error(usage) with the line that works, for commands whose work several processes cannot share.
[[noreturn]] void refuse_processes(const comm::World& world, const Invocation& invocation);

/// Parses, handles --help and --print-config, prints notices, refuses unavailable options, and then calls `run`.
/// `complete` may replace the parsed arguments, as `restore` does.
int parse_and_run(options::Command command, const Invocation& invocation,
                  const std::function<int(const options::ParseResult&, const run::Host&)>& run,
                  const std::function<options::ParseResult(const options::ParseResult&)>& complete = {});

}  // namespace cnntrain::cli
