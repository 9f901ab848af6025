// The entry points of the commands: one function each.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags.h"
#include "cnntrain/base/error.h"
#include "cnntrain/options/commands.h"

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
int report_command(const Invocation& invocation);
int demo_command(const Invocation& invocation);
int profile_command(const Invocation& invocation);
int resnet_main_command(const Invocation& invocation);  // resnet_recipe.h
int resnet_eval_command(const Invocation& invocation);
int poprun_command(const Invocation& invocation);
/// Becomes this program, as an instance of poprun.
int poprun_instance(const std::vector<std::string>& program);

// The kinds of `cnntrain dataset <kind>`; dataset.cpp has the table. `called` is the name to show in help, `arguments`
// are the words after it. Each function returns the exit code of the process and may throw Error.
int dataset_bert(const std::string& called, const std::vector<std::string>& arguments);
int dataset_imagenet(const std::string& called, const std::vector<std::string>& arguments);
int dataset_inspect(const std::string& called, const std::vector<std::string>& arguments);
int dataset_verify(const std::string& called, const std::vector<std::string>& arguments);
int dataset_suspects(const std::string& called, const std::vector<std::string>& arguments);

// The flags of these commands.
const CommandFlags& average_flags();
const CommandFlags& analyse_flags();
const CommandFlags& convert_flags();
const CommandFlags& demo_flags();
const CommandFlags& plan_flags();
const CommandFlags& profile_flags();
const CommandFlags& report_flags();
const CommandFlags& resnet_main_flags();
const CommandFlags& resnet_eval_flags();
const CommandFlags& dataset_bert_flags();
const CommandFlags& dataset_imagenet_flags();
const CommandFlags& dataset_inspect_flags();
const CommandFlags& dataset_suspects_flags();
const CommandFlags& dataset_verify_flags();
options::HelpPage benchmark_page(const std::string& called);

/// A kind of `cnntrain dataset`.
struct DatasetKind {
    std::string_view name;
    std::string_view script;  // original script for the same job; empty if there is none
    std::string_view help;
    const CommandFlags& (*flags)();
    int (*run)(const std::string& called, const std::vector<std::string>& arguments);
};
std::span<const DatasetKind> dataset_kinds();

/// Prints an error to standard error. Returns the exit code for `kind`.
int print_error(const std::string& message, ErrorKind kind);

/// Runs the whole program. `words`: argv[1], argv[2], ... Errors are printed to standard error.
int run_program(const std::string& program, const std::vector<std::string>& words);

}  // namespace cnntrain::cli
