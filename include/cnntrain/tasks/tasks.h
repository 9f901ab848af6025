// What can be trained: the lines of the commands, read and run by the task that they are for.
//
//   auto arguments = parse_command_line(Command::train, words, process_environment());
//   return run(arguments, host);
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/config/parse.h"
#include "cnntrain/train/runs.h"
#include "cnntrain/train/task.h"

namespace cnntrain::tasks {

/// The row of the task that the arguments were parsed for.
const train::TaskRow& row_of(const config::ParseResult& arguments);

/// For the task that --task names, else for that of the run in --restore-path (validation, inference), else for the
/// first that serves the command. Error(usage) as config::parse_command_line(), and for a task that there is not or
/// that does not serve the command.
config::ParseResult parse_command_line(config::Command command, const std::vector<std::string>& arguments,
                                       const config::Environment& environment, const FileSystem& files = posix_files());
/// Of the task of a parsed line.
std::string help_text(const config::ParseResult& line, std::string_view called);

/// Is the command one that parses a line for a task, and runs it?
bool serves(config::Command command);

/// Do two flags of `train` mean one thing (config::takes_place_of), with any task?
bool takes_place_of(std::string_view flag, std::string_view other);

/// The options of the run that the restore line names, with the line's own over them. Error(not_found) when the folder
/// holds none.
config::ParseResult restored_arguments(const config::ParseResult& restore_line, const FileSystem& files);

// The runs of train/runs.h and the dry run, by the task of the arguments.
int run_training(const config::ParseResult& arguments, const train::Host& host);
int run_validation(const config::ParseResult& arguments, const train::Host& host);
int run_inference(const config::ParseResult& arguments, const train::Host& host);
int run_restored(const config::ParseResult& restore_line, const train::Host& host);
/// What the arguments' command does: training, validation or inference.
int run(const config::ParseResult& arguments, const train::Host& host);
std::string dry_run_text(const config::ParseResult& arguments);

}  // namespace cnntrain::tasks
