// The commands as the program runs them: one function and one file each.
#pragma once

#include <string>
#include <vector>

namespace cnntrain::cli {

/// The words of one call of the program.
struct Invocation {
    std::vector<std::string> arguments;  // behind the command
    std::string command_line;            // all of them, as typed
    std::string command;                 // the word that chose the command: "dataset", "some/path/imagenet_to_gcs.py"
};

/// Each returns the process's exit code and throws Error.
int train_command(const Invocation& invocation);
int restore_command(const Invocation& invocation);
int validation_command(const Invocation& invocation);
int inference_command(const Invocation& invocation);
int average_command(const Invocation& invocation);
int analyse_command(const Invocation& invocation);
int dataset_command(const Invocation& invocation);
int benchmark_command(const Invocation& invocation);

/// The whole program: `words` are argv[1], argv[2], ...; errors are printed to standard error.
int run_program(const std::string& program, const std::vector<std::string>& words);

}  // namespace cnntrain::cli
