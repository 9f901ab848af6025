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
constexpr std::array<CommandEntry, 8> kCommands = {{
    {config::Command::train, train_command},
    {config::Command::validation, validation_command},
    {config::Command::restore, restore_command},
    {config::Command::inference, inference_command},
    {config::Command::average, average_command},
    {config::Command::analyse, analyse_command},
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

}  // namespace

std::string called(const Invocation& invocation) {
    const std::string file = invocation.command.substr(invocation.command.find_last_of('/') + 1);
    const auto& scripts = config::info(config::command_named(invocation.command)).scripts;
    const bool is_script = std::ranges::find(scripts, file) != scripts.end();
    return is_script ? file : "cnntrain " + file;
}

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
