// The commands as the program runs them: one function each.
#pragma once

#include <string>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/config/commands.h"

namespace cnntrain::cli {

/// The words of one call of the program.
struct Invocation {
    std::vector<std::string> arguments;  // behind the command
    std::string command_line;            // all of them, as typed
    std::string command;                 // the word that chose the command: "dataset", "some/path/imagenet_to_gcs.py"
};

/// The program as its user calls it, for help: "cnntrain train", or "train.py" when a script's name was typed.
std::string called(const Invocation& invocation);

/// Each returns the process's exit code and throws Error.
/// A command that a task serves.
int task_command(config::Command command, const Invocation& invocation);
int restore_command(const Invocation& invocation);
int average_command(const Invocation& invocation);
int analyse_command(const Invocation& invocation);
int convert_command(const Invocation& invocation);
int dataset_command(const Invocation& invocation);
int benchmark_command(const Invocation& invocation);
int plan_command(const Invocation& invocation);
int resnet_main_command(const Invocation& invocation);  // resnet_recipe.h
int resnet_eval_command(const Invocation& invocation);
int poprun_command(const Invocation& invocation);

// The kinds of `cnntrain dataset <kind>`; dataset.cpp has the table. Each takes how it is called and the words behind
// that, returns the process's exit code and throws Error.
int dataset_bert(const std::string& called, const std::vector<std::string>& arguments);
int dataset_imagenet(const std::string& called, const std::vector<std::string>& arguments);
int dataset_inspect(const std::string& called, const std::vector<std::string>& arguments);
int dataset_verify(const std::string& called, const std::vector<std::string>& arguments);
int dataset_reshard(const std::string& called, const std::vector<std::string>& arguments);

/// On standard error, as the program tells all its errors. Returns the exit code of the kind.
int print_error(const std::string& message, ErrorKind kind);

/// The whole program: `words` are argv[1], argv[2], ...; errors are printed to standard error.
int run_program(const std::string& program, const std::vector<std::string>& words);

}  // namespace cnntrain::cli
