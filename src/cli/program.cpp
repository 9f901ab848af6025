#include "cli/program.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <new>
#include <system_error>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/help.h"
#include "cli/installed_texts.h"
#include "cli/resnet_recipe.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/memory.h"
#include "cnntrain/base/processor.h"
#include "cnntrain/base/text.h"
#include "cnntrain/launch/poprun.h"
#include "cnntrain/options/commands.h"
#include "cnntrain/options/line.h"
#include "cnntrain/parallel/communicator.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/text_reports.h"
#include "cnntrain/tasks/tasks.h"

namespace cnntrain::cli {
namespace {

/// `options`: the words after --version.
int print_version(const std::vector<std::string>& options) {
    const bool verbose = options == std::vector<std::string>{"--verbose"};
    if (!verbose && !options.empty())
        throw Error(ErrorKind::usage, "--version takes --verbose and nothing else, not '" + options.front() + "'");
    std::cout << run::version_line() << '\n';
    if (!verbose) return 0;
    const run::RunSettings settings;
    const auto backend = run::make_backend(settings.backend);
    for (const std::string& line : run::machine_lines(*backend, settings))
        std::cout << line << '\n';
    return 0;
}

/// "python3 -m examples_utils benchmark" with python3 replaced by cnntrain leaves a leading "-m".
std::vector<std::string> without_module_switch(std::vector<std::string> words) {
    if (words.size() > 1 && words.front() == "-m") words.erase(words.begin());
    return words;
}

/// Restricts a process that a launcher started together with others on this machine to its share of the cores. Must run
/// before the process has a second thread. Commands that start other processes keep all cores for those.
void take_core_share(options::Command command) {
    if (command == options::Command::poprun || command == options::Command::benchmark) return;
    const Variables environment = process_variables();
    const auto world = comm::read_launched(environment).world;
    if (!world || !world->local_rank || world->local_size.value_or(1) == 1) return;
    const auto placement = environment.find(kPlacementVariable);
    const bool bound = placement == environment.end() || placement->second != "disabled";
    log::info(take_share({*world->local_rank, *world->local_size, bound}));
}

/// Throws Error(usage) if a launcher started several processes of a command that has nothing to share between them.
void refuse_useless_processes(options::Command command, const Invocation& invocation) {
    using options::Command;
    const bool shares = tasks::serves(command) || command == Command::restore;      // run_options.cpp decides
    if (shares || command == Command::profile || command == Command::plan) return;  // plan measures the network
    if (std::ranges::any_of(invocation.arguments, options::asks_help)) return;
    const auto world = comm::read_launched(process_variables()).world;
    if (world && world->size > 1) refuse_processes(*world, invocation);
}

bool is_command(std::string_view word) {
    return options::is_script(word) || !options::why_not_here(word).empty() ||
           std::ranges::find(options::commands(), word, &options::CommandInfo::name) != options::commands().end();
}

/// A command of other programs becomes this program's: "predict" is inference.
std::vector<std::string> with_own_command(std::vector<std::string> words) {
    if (words.empty()) return words;
    const bool asks_help = words.front() == "help" || words.front() == "--help";
    if (asks_help && topic_of({words.begin() + 1, words.end()}) != nullptr) return words;  // "help run folder"
    std::string& command = words[asks_help && words.size() > 1 ? 1 : 0];
    const std::string_view own = options::command_of_habit(command);
    if (own.empty()) return words;
    log::info(command + " is read as " + std::string(own));
    command = own;
    return words;
}

/// Users often give a path where a command belongs.
void refuse_path(const std::string& word) {
    const FileSystem& files = posix_files();
    if (is_command(word) || (!exists(files, word) && !is_directory(files, word))) return;
    throw Error(ErrorKind::usage, "'" + word +
                                      "' is a file or folder, and a line begins with a command: cnntrain train " +
                                      word + ", or cnntrain inference RUN " + word);
}

bool asks_version(std::string_view word) {
    return word == "--version" || word == "-V";
}

/// Word between "help" and words that are no topic.
constexpr std::string_view kSearchWord = "--search";

/// "help train", "--help train" and "help dataset cifar" become "train --help" and "dataset cifar --help", "help train
/// model" becomes "train --help model". "help TOPIC" is unchanged, also if a command has this name.
std::vector<std::string> with_help_last(std::vector<std::string> words) {
    const bool asks = !words.empty() && (words.front() == "help" || options::asks_help(words.front()));
    if (words.size() < 2 || !asks || words[1].starts_with('-')) return words;
    const std::vector<std::string> asked(words.begin() + 1, words.end());
    const bool of_command = is_command(asked.front());
    const HelpTopic* const topic = of_command ? help_topic(asked.front()) : topic_of(asked);
    if (topic != nullptr && (!of_command || asked.size() == 1)) return {"help", std::string(topic->name)};
    if (!of_command) {
        if (!found_in_help(asked).empty()) {
            words.insert(words.begin() + 1, std::string(kSearchWord));
            return words;
        }
        if (help_topic(asked.front()) == nullptr) refuse_topic(joined(asked, " "));
        throw Error(ErrorKind::usage, "help takes one topic or command, not also '" + asked[1] + "'");
    }
    const std::size_t command = asked.front() == options::name(options::Command::dataset) ? 2 : 1;
    if (asked.size() > command + 1) {
        throw Error(ErrorKind::usage,
                    "help takes a command and a group of its options, not also '" + asked[command + 1] + "'");
    }
    words.assign(asked.begin(), asked.begin() + static_cast<std::ptrdiff_t>(std::min(command, asked.size())));
    words.emplace_back(options::kHelpFlag);
    if (asked.size() > command) words.push_back(asked.back());
    return words;
}

/// "help", "help TOPIC" and the other forms of `help`.
int help_command(const std::vector<std::string>& words) {
    if (words.empty() || options::asks_help(words.front())) {
        std::cout << help_overview();
        return 0;
    }
    if (const HelpTopic* topic = help_topic(words.front())) {
        std::cout << topic->text;
        return 0;
    }
    const std::string& wanted = words.front();
    if (wanted == kSearchWord) {
        std::cout << found_in_help({words.begin() + 1, words.end()});
        return 0;
    }
    if (words.size() > 2)
        throw Error(ErrorKind::usage, "help " + wanted + " takes one word, not also '" + words[2] + "'");
    if (wanted == "--completion") {
        if (words.size() < 2) {
            throw Error(ErrorKind::usage,
                        "help --completion: name a shell: " + joined({std::begin(kShells), std::end(kShells)}));
        }
        std::vector<std::string> topics;
        for (const HelpTopic& topic : help_topics())
            topics.emplace_back(topic.name);
        std::cout << completion_script(words[1], command_pages(), topics);
        return 0;
    }
    if (wanted != "--man") {
        throw Error(ErrorKind::usage,
                    "help takes a topic, a command, --man or --completion, not '" + wanted + "'; see cnntrain help");
    }
    ManPages pages{command_pages(), run::version_line(), man_date()};
    std::erase_if(pages.commands, [](const CommandPage& page) { return foreign_program(page.command) != nullptr; });
    if (words.size() == 2) {
        std::cout << man_page(pages, words[1]);
        return 0;
    }
    for (const std::string& name : man_names(pages))
        std::cout << name << '\n';
    return 0;
}

int dispatch(const std::string& program, const std::vector<std::string>& typed) {
    const std::vector<std::string> words = with_help_last(with_own_command(without_module_switch(typed)));
    if (words.empty() || options::asks_help(words.front())) {
        std::cout << overview();
        return 0;
    }
    if (words.front() == "help") return help_command({words.begin() + 1, words.end()});
    if (asks_version(words.front())) return print_version({words.begin() + 1, words.end()});
    if (words.front() == launch::kInstanceWord) return poprun_instance({words.begin() + 1, words.end()});
    require_kernel_instructions(this_processor());
    require_stack();
    Invocation invocation{{words.begin() + 1, words.end()}, program, words.front(), program};
    invocation.command_line += each_behind(" ", words);
    if (const ForeignProgram* foreign = foreign_program(words.front())) {
        take_core_share(options::Command::train);
        return foreign->run(invocation);
    }
    refuse_path(words.front());
    const options::Command command = options::command_named(words.front());
    refuse_useless_processes(command, invocation);
    take_core_share(command);
    return run_command(command, invocation);
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
    const std::string_view link = options::name(options::Command::poprun);
    if (last_part(program) == link) words.insert(words.begin(), std::string(link));
    return words;
}

/// Reports exhausted machine resources as an error kind of its own, not as an internal error.
int dispatch_within_limits(const std::string& program, const std::vector<std::string>& typed) {
    try {
        log::set_colours(diagnostics_terminal().colours);
        return dispatch(program, with_linked_command(program, typed));
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

int run_reporting_errors(const std::string& program, const std::vector<std::string>& words) {
    try {
        return dispatch_within_limits(program, words);
    } catch (const Interrupted& stop) {
        std::cout << std::flush;
        const std::string text = stop.what();
        std::cerr << (reports_in_json() ? metrics::message_line("info", text) : text) + "\n";
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
    const std::string head = styled("error:", Style::red, diagnostics_terminal().colours);
    const std::string line =
        reports_in_json() ? metrics::error_line(message, exit_code(kind)) : head + " " + printable_lines(message);
    std::cerr << line + '\n';  // one write, so that output of other processes cannot split the line
    return exit_code(kind);
}

std::string called(const Invocation& invocation) {
    const std::string file(last_part(invocation.command));
    const auto& scripts = options::info(options::command_named(invocation.command)).scripts;
    const bool is_script = std::ranges::find(scripts, file) != scripts.end();
    return is_script ? file : "cnntrain " + file;
}

int run_program(const std::string& program, const std::vector<std::string>& words) {
    keep_standard_streams_open();
    outlive_file_size_limit();
    const PrintableOutput output;
    const int code = run_reporting_errors(program, words);
    std::cout.flush();
    return code != 0 || (std::cout.good() && terminal_output().good()) ? code : print_lost_output();
}

namespace {

using options::Command;
using options::HelpPage;

template <CommandFlags (*kFlags)()> HelpPage page_of(const std::string& called) {
    return help_page(kFlags(), called);
}

/// The functions behind options::commands(), which holds names, script names and help lines. A command without a row
/// here is implemented by tasks.
constexpr std::array<CommandEntry, 13> kCommands = {{
    {Command::demo, demo_command, page_of<demo_flags>},
    {Command::restore, restore_command},
    {Command::average, average_command, page_of<average_flags>},
    {Command::analyse, analyse_command, page_of<analyse_flags>},
    {Command::convert, convert_command, page_of<convert_flags>},
    {Command::dataset, dataset_command},
    {Command::benchmark, benchmark_command, benchmark_page},
    {Command::plan, plan_command, page_of<plan_flags>},
    {Command::profile, profile_command, page_of<profile_flags>},
    {Command::quantise, quantise_command, page_of<quantise_flags>},
    {Command::poprun, poprun_command, launch::poprun_page},
    {Command::report, report_command, page_of<report_flags>},
    {Command::weights, weights_command, page_of<weights_flags>},
}};

constexpr ForeignProgram kForeignPrograms[] = {
    {options::kRecipeScripts[0], "the large-batch ResNet-50 recipe for CPUs: its training", resnet_main_flags,
     resnet_main_command},
    {options::kRecipeScripts[1], "the large-batch ResNet-50 recipe for CPUs: top-1 and top-5 accuracy",
     resnet_eval_flags, resnet_eval_command},
};

/// The options of all tasks that serve a command: those that only some tasks have are in groups with the task's name.
HelpPage page_of_tasks(Command command, const std::string& called) {
    HelpPage all;
    for (tasks::TaskPage& of_task : tasks::help_pages(command, called)) {
        if (all.rows.empty()) {
            all = std::move(of_task.page);
            continue;
        }
        for (options::HelpRow& row : of_task.page.rows) {
            if (std::ranges::find(all.rows, row.flag, &options::HelpRow::flag) != all.rows.end()) continue;
            row.group += " (" + std::string(of_task.task) + ")";
            all.rows.push_back(std::move(row));
        }
    }
    return all;
}

/// Commands of flags take these without rows.
void add_help_flags(HelpPage& page) {
    if (std::ranges::find(page.rows, options::kHelpFlag, &options::HelpRow::flag) != page.rows.end()) return;
    page.rows.push_back({.flag = std::string(options::kHelpFlag), .help = "print the main options"});
    page.rows.push_back({.flag = std::string(options::kHelpAllFlag), .help = "print all options"});
}

std::vector<std::string> words_of(const std::vector<std::string_view>& views) {
    return {views.begin(), views.end()};
}

}  // namespace

const CommandEntry* command_entry(Command command) {
    const auto* const found = std::ranges::find(kCommands, command, &CommandEntry::command);
    return found == kCommands.end() ? nullptr : found;
}

int run_command(Command command, const Invocation& invocation) {
    const CommandEntry* const found = command_entry(command);
    return found != nullptr ? found->run(invocation) : task_command(command, invocation);
}

std::span<const ForeignProgram> foreign_programs() {
    return kForeignPrograms;
}

const ForeignProgram* foreign_program(std::string_view word) {
    const auto* const found = std::ranges::find(kForeignPrograms, last_part(word), &ForeignProgram::script);
    return found == std::end(kForeignPrograms) ? nullptr : found;
}

std::vector<CommandPage> command_pages() {
    std::vector<CommandPage> pages;
    for (const options::CommandInfo& info : options::commands()) {
        const std::string called = "cnntrain " + std::string(info.name);
        if (info.command == Command::dataset) {
            for (const DatasetKind& kind : dataset_kinds()) {
                CommandPage& page = pages.emplace_back();
                page.command = std::string(info.name) + " " + std::string(kind.name);
                if (!kind.script.empty()) page.scripts.emplace_back(kind.script);
                page.summary = kind.help;
                page.page = help_page(kind.flags(), called + " " + std::string(kind.name));
            }
            continue;
        }
        const CommandEntry* const found = command_entry(info.command);
        const bool own = found != nullptr && found->page != nullptr;
        pages.push_back({std::string(info.name), words_of(info.scripts), std::string(info.help),
                         own ? found->page(called) : page_of_tasks(info.command, called)});
    }
    for (const ForeignProgram& program : kForeignPrograms) {
        const std::string script(program.script);
        pages.push_back({script, {}, std::string(program.help), help_page(program.flags(), script)});
    }
    for (CommandPage& page : pages)
        add_help_flags(page.page);
    return pages;
}

}  // namespace cnntrain::cli
