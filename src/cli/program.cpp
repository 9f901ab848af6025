#include <algorithm>
#include <array>
#include <exception>
#include <iostream>

#include "cli/commands.h"
#include "cnntrain/base/error.h"
#include "cnntrain/config/commands.h"

namespace cnntrain::cli {

namespace {

struct CommandEntry {
    config::Command command;
    int (*run)(const Invocation&);
};

/// Names, script names and help lines are config::commands(); this is what they do. A command without a row is not
/// available yet.
constexpr std::array<CommandEntry, 6> kCommands = {{
    {config::Command::train, train_command},
    {config::Command::validation, validation_command},
    {config::Command::restore, restore_command},
    {config::Command::inference, inference_command},
    {config::Command::dataset, dataset_command},
    {config::Command::benchmark, benchmark_command},
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
    std::cout << "\ncnntrain <command> --help lists the options of a command.\n";
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

}  // namespace

int run_program(const std::string& program, const std::vector<std::string>& words) {
    try {
        return dispatch(program, words);
    } catch (const Error& error) {
        std::cout << std::flush;
        std::cerr << "error: " << error.what() << '\n';
        return exit_code(error.kind());
    } catch (const std::exception& error) {
        std::cout << std::flush;
        std::cerr << "error: " << error.what() << " (a defect of cnntrain, or the machine is out of memory)\n";
        return exit_code(ErrorKind::internal);
    }
}

}  // namespace cnntrain::cli
