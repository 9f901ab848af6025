// Parses the commands that train or evaluate, and runs them with the task they are for.
//
//   auto arguments = parse_command_line(Command::train, words, process_environment());
//   return run(arguments, host);
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/task.h"

namespace cnntrain::tasks {

/// The row of the task that the arguments were parsed for.
const run::TaskRow& row_of(const options::ParseResult& arguments);

/// Parses for the task named by --task; otherwise for that of the run in --restore-path (validation, inference);
/// otherwise for the first task that serves the command. Throws Error(usage) like options::parse_command_line(), and
/// for a task that does not exist or does not serve the command.
options::ParseResult parse_command_line(options::Command command, const std::vector<std::string>& arguments,
                                        const options::Environment& environment,
                                        const FileSystem& files = posix_files());
/// The options of the command for the task of a parsed command line.
options::HelpPage help_page(const options::ParseResult& line, std::string_view called);
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

// The functions of run/runs.h and the dry run, for the task of the arguments.
int run_training(const options::ParseResult& arguments, const run::Host& host);
int run_validation(const options::ParseResult& arguments, const run::Host& host);
int run_inference(const options::ParseResult& arguments, const run::Host& host);
int run_restored(const options::ParseResult& restore_line, const run::Host& host);
int run_profile(const options::ParseResult& arguments, const run::ProfileRequest& request, const run::Host& host);
/// Executes the arguments' command: training, validation or inference.
int run(const options::ParseResult& arguments, const run::Host& host);
std::string dry_run_text(const options::ParseResult& arguments);
void print_dry_run(const options::ParseResult& arguments, const run::Host& host);

}  // namespace cnntrain::tasks
