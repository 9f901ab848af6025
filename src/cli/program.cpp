#include <fcntl.h>
#include <poll.h>
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
#include "cli/help.h"
#include "cli/run_options.h"
#include "cnntrain/base/cores.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/memory.h"
#include "cnntrain/base/path.h"
#include "cnntrain/base/processor.h"
#include "cnntrain/base/size_text.h"
#include "cnntrain/comm/launcher.h"
#include "cnntrain/config/commands.h"
#include "cnntrain/config/habits.h"
#include "cnntrain/launch/poprun.h"
#include "cnntrain/tasks/tasks.h"
#include "cnntrain/train/backends.h"
#include "cnntrain/train/machine.h"

namespace cnntrain::cli {

namespace {

struct CommandEntry {
    config::Command command;
    int (*run)(const Invocation&);
};

/// The functions behind config::commands(), which holds names, script names and help lines. A command without a row
/// here is implemented by tasks or not available.
constexpr std::array<CommandEntry, 9> kCommands = {{
    {config::Command::restore, restore_command},
    {config::Command::average, average_command},
    {config::Command::analyse, analyse_command},
    {config::Command::convert, convert_command},
    {config::Command::dataset, dataset_command},
    {config::Command::benchmark, benchmark_command},
    {config::Command::plan, plan_command},
    {config::Command::profile, profile_command},
    {config::Command::poprun, poprun_command},
}};

const CommandEntry* entry(config::Command command) {
    const auto* found = std::find_if(kCommands.begin(), kCommands.end(),
                                     [&](const CommandEntry& candidate) { return candidate.command == command; });
    return found == kCommands.end() ? nullptr : found;
}

bool is_available(config::Command command) {
    return entry(command) != nullptr || tasks::serves(command);
}

/// `options`: the words after --version.
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

/// Programs of another project. They are selected by script name only and take that project's flags.
struct ForeignProgram {
    std::string_view script;
    std::string_view help;
    int (*run)(const Invocation&);
};

constexpr ForeignProgram kForeignPrograms[] = {
    {config::kRecipeScripts[0], "the large-batch ResNet-50 recipe for CPUs: its training", resnet_main_command},
    {config::kRecipeScripts[1], "its evaluation: top-1 and top-5 accuracy", resnet_eval_command},
};

/// Null if there is none.
const ForeignProgram* foreign_program(std::string_view word) {
    const std::string_view file = last_part(word);
    const auto* const found = std::ranges::find(kForeignPrograms, file, &ForeignProgram::script);
    return found == std::end(kForeignPrograms) ? nullptr : found;
}

/// Indents the name and pads it to the column where its description starts.
std::string in_column(std::string_view name) {
    constexpr std::size_t kColumn = 14;
    std::string line = "  " + std::string(name);
    line.resize(std::max(line.size() + 1, kColumn), ' ');
    return line;
}

void print_overview() {
    std::cout << "usage: cnntrain <command> [options]\n"
                 "Trains and measures convolutional networks and BERT on CPUs.\n\nCommands:\n";
    for (const config::CommandInfo& info : config::commands()) {
        std::string line = in_column(info.name) + std::string(info.help);
        for (const std::string_view& script : info.scripts) {
            line += &script == &info.scripts.front() ? " (also " : ", ";
            line += script;
        }
        if (!info.scripts.empty()) line += ")";
        if (!is_available(info.command)) line += " - not available yet";
        std::cout << line << '\n';
    }
    std::cout << "\nPrograms of other projects:\n";
    for (const ForeignProgram& foreign : kForeignPrograms)
        std::cout << in_column(foreign.script) << foreign.help << '\n';
    std::cout << "\nTopics of cnntrain help:\n"
              << list_of_topics()
              << "\n"
                 "cnntrain help <command>, or <command> --help, lists the options of a command.\n"
                 "cnntrain --version --verbose describes this machine and its fastest arithmetic.\n";
}

/// "python3 -m examples_utils benchmark" with python3 replaced by cnntrain leaves a leading "-m".
std::vector<std::string> without_module_switch(std::vector<std::string> words) {
    if (words.size() > 1 && words.front() == "-m") words.erase(words.begin());
    return words;
}

/// Restricts a process that a launcher started together with others on this machine to its share of the cores. Must run
/// before the process has a second thread. Commands that start other processes keep all cores for those.
void take_core_share(config::Command command) {
    if (command == config::Command::poprun || command == config::Command::benchmark) return;
    const comm::Environment environment = comm::process_environment();
    const auto world = comm::read_launched(environment).world;
    if (!world || !world->local_rank || world->local_size.value_or(1) == 1) return;
    const auto placement = environment.find(kPlacementVariable);
    const bool bound = placement == environment.end() || placement->second != "disabled";
    log::info(take_share({*world->local_rank, *world->local_size, bound}));
}

/// Throws Error(usage) if a launcher started several processes of a command that has nothing to share between them.
void refuse_useless_processes(config::Command command, const Invocation& invocation) {
    using config::Command;
    const bool shares = tasks::serves(command) || command == Command::restore;      // run_options.cpp decides
    if (shares || command == Command::profile || command == Command::plan) return;  // plan measures the network
    const auto asks_help = [](const std::string& word) { return word == "--help" || word == "-h"; };
    if (std::ranges::any_of(invocation.arguments, asks_help)) return;
    const auto world = comm::read_launched(comm::process_environment()).world;
    if (world && world->size > 1) refuse_processes(*world, invocation);
}

bool is_command(std::string_view word) {
    return config::is_script(word) || !config::why_not_here(word).empty() ||
           std::ranges::find(config::commands(), word, &config::CommandInfo::name) != config::commands().end();
}

/// A command of other programs becomes this program's: "predict" is inference.
std::vector<std::string> with_own_command(std::vector<std::string> words) {
    if (words.empty()) return words;
    std::string& command = words[words.front() == "help" && words.size() > 1 ? 1 : 0];
    const std::string_view own = config::command_of_habit(command);
    if (own.empty()) return words;
    log::info(command + " is read as " + std::string(own));
    command = own;
    return words;
}

/// "help train" and "help dataset cifar" become "train --help" and "dataset cifar --help"; "help TOPIC" is unchanged.
std::vector<std::string> with_help_last(std::vector<std::string> words) {
    if (words.size() < 2 || words.front() != "help") return words;
    words.erase(words.begin());
    const std::size_t most = words.front() == config::name(config::Command::dataset) ? 2 : 1;
    if (words.size() > most)
        throw Error(ErrorKind::usage, "help takes one topic or command, not also '" + words[most] + "'");
    if (help_topic(words.front()) != nullptr) return {"help", words.front()};
    if (!is_command(words.front())) refuse_topic(words.front());
    words.emplace_back("--help");
    return words;
}

int dispatch(const std::string& program, const std::vector<std::string>& typed) {
    const std::vector<std::string> words = with_help_last(with_own_command(without_module_switch(typed)));
    if (words.size() > 1 && words.front() == "help") {
        std::cout << help_topic(words[1])->text;
        return 0;
    }
    if (words.empty() || words.front() == "--help" || words.front() == "-h" || words.front() == "help") {
        print_overview();
        return 0;
    }
    if (words.front() == "--version") return print_version({words.begin() + 1, words.end()});
    if (words.front() == launch::kInstanceWord) return poprun_instance({words.begin() + 1, words.end()});
    require_kernel_instructions(this_processor());
    require_stack();
    Invocation invocation{{words.begin() + 1, words.end()}, program, words.front()};
    for (const std::string& word : words) {
        invocation.command_line += " " + word;
    }
    if (const ForeignProgram* foreign = foreign_program(words.front())) {
        take_core_share(config::Command::train);
        return foreign->run(invocation);
    }
    const config::Command command = config::command_named(words.front());
    if (!is_available(command)) {
        throw Error(ErrorKind::unsupported, "not available yet: cnntrain " + std::string(config::name(command)));
    }
    refuse_useless_processes(command, invocation);
    take_core_share(command);
    const CommandEntry* const found = entry(command);
    return found != nullptr ? found->run(invocation) : task_command(command, invocation);
}

/// Reports exhausted machine resources as an error kind of its own, not as an internal error.
int dispatch_within_limits(const std::string& program, const std::vector<std::string>& typed) {
    try {
        return dispatch(program, typed);
    } catch (const std::bad_alloc&) {
        const MemoryLeft left = memory_left();
        throw Error(ErrorKind::unsupported,
                    "there is not enough memory; the process has " + size_text(left.bytes) + " more " + left.limit);
    } catch (const std::filesystem::filesystem_error&) {
        throw;
    } catch (const std::system_error& error) {
        if (error.code() != std::errc::resource_unavailable_try_again) throw;
        throw Error(ErrorKind::unsupported,
                    "a thread cannot be started: there is no memory for its stack (ulimit -v), or the process may have "
                    "no more threads (ulimit -u); use fewer --threads and --input-threads");
    }
}

/// Opens /dev/null for closed standard streams. Otherwise the first file opened would get a standard stream's number
/// and receive text meant for the user.
void keep_standard_streams_open() {
    for (int stream = 0; stream <= STDERR_FILENO; ++stream) {
        if (::fcntl(stream, F_GETFD) == -1) static_cast<void>(::open("/dev/null", O_RDWR));  // lowest free number
    }
}

extern "C" void ignore_signal(int) {}

/// Ignores SIGXFSZ, so that a write beyond the file size limit fails like one on a full disk. Uses a handler rather
/// than SIG_IGN because processes that `benchmark` starts would inherit SIG_IGN.
void outlive_file_size_limit() {
    struct sigaction action = {};
    action.sa_handler = ignore_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGXFSZ, &action, nullptr);
}

/// Supports a link named poprun to this program.
std::vector<std::string> with_linked_command(const std::string& program, std::vector<std::string> words) {
    const std::string_view link = config::name(config::Command::poprun);
    if (last_part(program) == link) words.insert(words.begin(), std::string(link));
    return words;
}

int run_reporting_errors(const std::string& program, const std::vector<std::string>& words) {
    try {
        return dispatch_within_limits(program, words);
    } catch (const Interrupted& stop) {
        std::cout << std::flush;
        std::cerr << std::string(stop.what()) + "\n";
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

bool reader_has_gone(int stream) {
    pollfd end{stream, POLLOUT, 0};
    return ::poll(&end, 1, 0) > 0 && (end.revents & POLLERR) != 0;
}

int print_lost_output() {
    if (reader_has_gone(STDOUT_FILENO)) {
        return print_error(
            "whoever read the standard output has gone, as 'head' does when it has its lines: the rest of the text is "
            "lost",
            ErrorKind::storage);
    }
    return print_error("the standard output could not be written (a full disk?): what is there is not complete",
                       ErrorKind::storage);
}

}  // namespace

int print_error(const std::string& message, ErrorKind kind) {
    std::cout << std::flush;
    std::cerr << "error: " + message + '\n';  // one write, so that output of other processes cannot split the line
    return exit_code(kind);
}

std::string called(const Invocation& invocation) {
    const std::string file(last_part(invocation.command));
    const auto& scripts = config::info(config::command_named(invocation.command)).scripts;
    const bool is_script = std::ranges::find(scripts, file) != scripts.end();
    return is_script ? file : "cnntrain " + file;
}

int run_program(const std::string& program, const std::vector<std::string>& words) {
    keep_standard_streams_open();
    outlive_file_size_limit();
    const int code = run_reporting_errors(program, with_linked_command(program, words));
    std::cout.flush();
    return code != 0 || std::cout.good() ? code : print_lost_output();
}

}  // namespace cnntrain::cli
