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
const train::TaskRow& row_of(const config::ParseResult& arguments);

/// Parses for the task named by --task; otherwise for that of the run in --restore-path (validation, inference);
/// otherwise for the first task that serves the command. Throws Error(usage) like config::parse_command_line(), and for
/// a task that does not exist or does not serve the command.
config::ParseResult parse_command_line(config::Command command, const std::vector<std::string>& arguments,
                                       const config::Environment& environment, const FileSystem& files = posix_files());
/// The options of the command for the task of a parsed command line.
config::HelpPage help_page(const config::ParseResult& line, std::string_view called);
/// The options of each task that serves the command; none if tasks do not.
struct TaskPage {
    std::string_view task;
    config::HelpPage page;
};
std::vector<TaskPage> help_pages(config::Command command, std::string_view called);

/// True if tasks parse and run this command.
bool serves(config::Command command);
/// The commands with which tasks train: the first one of each task, without duplicates.
std::vector<config::Command> training_commands();

/// True if two flags of `train` mean the same (config::takes_place_of) in any task.
bool takes_place_of(std::string_view flag, std::string_view other);

/// The options of the run named by the restore line, overridden by the line's own. Throws Error(not_found) if the
/// folder has no run.
config::ParseResult restored_arguments(const config::ParseResult& restore_line, const FileSystem& files);

// The functions of train/runs.h and the dry run, for the task of the arguments.
int run_training(const config::ParseResult& arguments, const train::Host& host);
int run_validation(const config::ParseResult& arguments, const train::Host& host);
int run_inference(const config::ParseResult& arguments, const train::Host& host);
int run_restored(const config::ParseResult& restore_line, const train::Host& host);
int run_profile(const config::ParseResult& arguments, const train::ProfileRequest& request, const train::Host& host);
/// Executes the arguments' command: training, validation or inference.
int run(const config::ParseResult& arguments, const train::Host& host);
std::string dry_run_text(const config::ParseResult& arguments);
void print_dry_run(const config::ParseResult& arguments, const train::Host& host);

}  // namespace cnntrain::tasks
