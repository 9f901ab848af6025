// `cnntrain profile`: measures steps of another command's line, and says where their time goes.
#include <algorithm>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cnntrain/base/text.h"
#include "cnntrain/tasks/tasks.h"

namespace cnntrain::cli {
namespace {

/// True for words of the line: all but the options of `profile`, which must be written in full.
bool is_of_profiled_line(const std::string& word, bool) {
    const std::string flag = word.substr(0, word.find('='));
    return std::ranges::none_of(profile_flags().flags, [&](const Flag& own) { return own.name == flag; });
}

/// The command of the line, which runs a network.
options::Command profiled_command(std::vector<std::string>& line) {
    using options::Command;
    const std::vector<Command> running = {Command::train, Command::restore, Command::validation, Command::inference,
                                          Command::pretrain};
    std::vector<std::string> names;
    for (const Command one : running)
        names.emplace_back(options::name(one));
    return leading_command(line, running, "cnntrain profile takes a line of " + listed(names, "or"));
}

}  // namespace

CommandFlags profile_flags() {
    return {
        {{"--profile-steps", "10", "weight updates, or micro-batches of an evaluation, to measure"},
         {"--profile-dir", "",
          "folder for profile.json, profile.trace.json (ui.perfetto.dev, chrome://tracing) and profile.folded (flame "
          "graphs)"}},
        "\n"
        "Runs some steps of a line and prints where their time goes: operations with their rates and\n"
        "their share of the machine's roofline, input, communication, memory. It ends with what limits,\n"
        "and what to try. No run folder is made, and the weights are random.\n"
        "  cnntrain profile train.py --model-size 50 --dataset imagenet --generated-data --batch-norm\n"
        "  cnntrain profile pretrain --config pretrain_base_128_phase1 --generated-data --profile-dir DIR\n"
        "  mpirun -np 2 --bind-to none cnntrain profile train --data-dir PHOTOS --model-size 18\n"
        "All other options are those of the line. cnntrain help profile explains table and files.\n"};
}

int profile_command(const Invocation& invocation) {
    const Flags flags(profile_flags(), called(invocation), invocation.arguments, is_of_profiled_line);
    std::vector<std::string> words = flags.rest();
    if (flags.print_help_if_wanted()) return 0;
    const options::Command command = profiled_command(words);
    constexpr std::int64_t kMostSteps = 1000;
    run::ProfileRequest request;
    request.steps = flags.integer("--profile-steps", 1, kMostSteps);
    if (flags.given("--profile-dir")) request.folder = flags.text("--profile-dir");
    const Invocation line{std::move(words), invocation.command_line, std::string(options::name(command))};
    const auto run = [&](const options::ParseResult& arguments, const run::Host& host) {
        return run::run_profile(tasks::row_of(arguments), arguments, request, host);
    };
    if (command != options::Command::restore) return parse_and_run(command, line, run);
    return parse_and_run(command, line, run, [](const options::ParseResult& given) {
        return tasks::restored_arguments(given, posix_files());
    });
}

}  // namespace cnntrain::cli
