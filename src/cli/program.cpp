#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <optional>
#include <system_error>

#include "cli/commands.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/memory.h"
#include "cnntrain/base/processor.h"
#include "cnntrain/base/size_text.h"
#include "cnntrain/config/commands.h"
#include "cnntrain/train/assemble.h"
#include "cnntrain/train/machine.h"

namespace cnntrain::cli {

namespace {

struct CommandEntry {
    config::Command command;
    int (*run)(const Invocation&);
};

/// Names, script names and help lines are config::commands(); this is what they do. A command without a row is not
/// available yet.
constexpr std::array<CommandEntry, 9> kCommands = {{
    {config::Command::train, train_command},
    {config::Command::validation, validation_command},
    {config::Command::restore, restore_command},
    {config::Command::inference, inference_command},
    {config::Command::average, average_command},
    {config::Command::analyse, analyse_command},
    {config::Command::dataset, dataset_command},
    {config::Command::benchmark, benchmark_command},
    {config::Command::plan, plan_command},
}};

const CommandEntry* entry(config::Command command) {
    const auto* found = std::find_if(kCommands.begin(), kCommands.end(),
                                     [&](const CommandEntry& candidate) { return candidate.command == command; });
    return found == kCommands.end() ? nullptr : found;
}

void print_overview() {
    constexpr std::size_t kColumn = 14;
    std::cout << "usage: cnntrain <command> [options]\n"
                 "Trains and measures convolutional networks on CPUs.\n\nCommands:\n";
    for (const config::CommandInfo& info : config::commands()) {
        std::string line = "  " + std::string(info.name);
        line.resize(std::max(line.size() + 1, kColumn), ' ');
        line += info.help;
        for (const std::string_view& script : info.scripts) {
            line += &script == &info.scripts.front() ? " (also " : ", ";
            line += script;
        }
        if (!info.scripts.empty()) line += ")";
        if (entry(info.command) == nullptr) line += " - not available yet";
        std::cout << line << '\n';
    }
    std::cout << "\ncnntrain <command> --help lists the options of a command.\n"
                 "cnntrain --version --verbose says what this machine computes with.\n";
}

/// `options`: behind --version.
int print_version(const std::vector<std::string>& options) {
    const bool verbose = options == std::vector<std::string>{"--verbose"};
    if (!verbose && !options.empty()) {
        throw Error(ErrorKind::usage, "--version takes --verbose and nothing else, not '" + options.front() + "'");
    }
    std::cout << train::version_line() << '\n';
    if (!verbose) return 0;
    const train::RunSettings settings;
    const auto backend = train::make_backend(settings.backend);
    for (const std::string& line : train::machine_lines(*backend, settings))
        std::cout << line << '\n';
    return 0;
}

/// Programs of another project that documents name beside ours, and the line that does the same here.
struct ForeignProgram {
    std::string_view script;
    std::string_view equivalent;
};

constexpr ForeignProgram kForeignPrograms[] = {
    {"resnet_main.py",
     "cnntrain train --model resnet --model-size 50 --dataset imagenet --batch-norm --BN-decay 0.95 --micro-batch-size "
     "48 --iterations 4680 --lr-schedule polynomial_decay_lr --poly-lr-decay-power 1 --abs-learning-rate 4.8 "
     "--abs-end-learning-rate 0 --warmup-epochs 5 --weight-decay 5e-5 --no-validation --data-dir DIR --log-dir DIR in "
     "each of 512 processes"},
    {"resnet_eval.py",
     "cnntrain validation --model resnet --model-size 50 --dataset imagenet --batch-norm --micro-batch-size 200 "
     "--data-dir DIR --restore-path DIR"},
};

void refuse_foreign(std::string_view word) {
    const std::string_view file = word.substr(word.find_last_of('/') + 1);
    for (const ForeignProgram& program : kForeignPrograms) {
        if (program.script != file) continue;
        throw Error(ErrorKind::unsupported, std::string(file) + " is a program of another project; here that is: " +
                                                std::string(program.equivalent));
    }
}

/// "python3 -m examples_utils benchmark" with python3 replaced leaves an "-m".
std::vector<std::string> without_module_switch(std::vector<std::string> words) {
    if (words.size() > 1 && words.front() == "-m") words.erase(words.begin());
    return words;
}

int dispatch(const std::string& program, const std::vector<std::string>& typed) {
    const std::vector<std::string> words = without_module_switch(typed);
    if (words.empty() || words.front() == "--help" || words.front() == "-h" || words.front() == "help") {
        print_overview();
        return 0;
    }
    if (words.front() == "--version") return print_version({words.begin() + 1, words.end()});
    require_kernel_instructions(this_processor());
    refuse_foreign(words.front());
    const config::Command command = config::command_named(words.front());
    const CommandEntry* found = entry(command);
    if (found == nullptr) {
        throw Error(ErrorKind::unsupported, "not available yet: cnntrain " + std::string(config::name(command)));
    }
    Invocation invocation{{words.begin() + 1, words.end()}, program, words.front()};
    for (const std::string& word : words) {
        invocation.command_line += " " + word;
    }
    return found->run(invocation);
}

/// What the machine does not give is an error of its own kind, and no defect.
int dispatch_within_limits(const std::string& program, const std::vector<std::string>& typed) {
    try {
        return dispatch(program, typed);
    } catch (const std::bad_alloc&) {
        const std::optional<std::uint64_t> left = memory_left_bytes();
        throw Error(ErrorKind::unsupported,
                    "there is not enough memory" +
                        (left ? "; the process may take " + size_text(*left) + " more (ulimit -v)" : std::string()));
    } catch (const std::filesystem::filesystem_error&) {
        throw;
    } catch (const std::system_error& error) {
        if (error.code() != std::errc::resource_unavailable_try_again) throw;
        throw Error(ErrorKind::unsupported,
                    "a thread cannot be started: there is no memory for its stack (ulimit -v), or the process may have "
                    "no more threads (ulimit -u); use fewer --threads and --input-threads");
    }
}

/// A closed standard stream would give its number to the first file that is opened, and text for the user would go there.
void keep_standard_streams_open() {
    for (int stream = 0; stream <= STDERR_FILENO; ++stream) {
        if (::fcntl(stream, F_GETFD) == -1) static_cast<void>(::open("/dev/null", O_RDWR));  // the lowest free number
    }
}

extern "C" void ignore_signal(int) {}

/// At a limit on the size of files a write then fails like one on a full disk. A handler and not SIG_IGN, which the
/// processes that `benchmark` starts would inherit.
void outlive_file_size_limit() {
    struct sigaction action = {};
    action.sa_handler = ignore_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGXFSZ, &action, nullptr);
}

int print_error(const std::string& message, ErrorKind kind) {
    std::cout << std::flush;
    std::cerr << "error: " << message << '\n';
    return exit_code(kind);
}

int run_reporting_errors(const std::string& program, const std::vector<std::string>& words) {
    try {
        return dispatch_within_limits(program, words);
    } catch (const Interrupted& stop) {
        std::cout << std::flush;
        std::cerr << stop.what() << '\n';
        return kInterruptedExitCode;
    } catch (const Error& error) {
        return print_error(error.what(), error.kind());
    } catch (const std::filesystem::filesystem_error& error) {
        return print_error("cannot read '" + error.path1().string() + "': " + error.code().message(), ErrorKind::data);
    } catch (const std::exception& error) {
        return print_error(std::string(error.what()) + " (a defect of cnntrain, or the machine is out of memory)",
                           ErrorKind::internal);
    }
}

}  // namespace

std::string called(const Invocation& invocation) {
    const std::string file = invocation.command.substr(invocation.command.find_last_of('/') + 1);
    const auto& scripts = config::info(config::command_named(invocation.command)).scripts;
    const bool is_script = std::ranges::find(scripts, file) != scripts.end();
    return is_script ? file : "cnntrain " + file;
}

int run_program(const std::string& program, const std::vector<std::string>& words) {
    keep_standard_streams_open();
    outlive_file_size_limit();
    const int code = run_reporting_errors(program, words);
    std::cout.flush();
    if (code != 0 || std::cout.good()) return code;
    return print_error("the standard output could not be written (a full disk?): what is there is not complete",
                       ErrorKind::storage);
}

}  // namespace cnntrain::cli
