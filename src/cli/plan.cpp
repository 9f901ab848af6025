// `cnntrain plan`: what the pipeline of a training line looks like, or what the line would reach on several processes.
#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <optional>

#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/process_plan.h"
#include "cli/process_words.h"
#include "cli/run_options.h"
#include "cli/signals.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/comm/launcher.h"
#include "cnntrain/plan/plan.h"
#include "cnntrain/tasks/tasks.h"
#include "cnntrain/train/stages.h"

namespace cnntrain::cli {

namespace {

const std::vector<Flag>& own_flags() {
    static const std::vector<Flag> flags = {
        {"--stages", "", "stages of the splits that are proposed (default: as many as the line has, or 2)"},
        {"--memory-limit", "", "GB that each stage of the proposed splits may need at most"},
        {"--profile", "", "file with the measured times of the functions; written when it is not there"},
        {"--steps", "3", "weight updates that are measured"},
        {"--no-measure", "", "times follow from FLOPs, unless the profile has them", {}, true},
        {"--svg", "", "file for the chart as a drawing"},
        {"--processes", "", "1,2,4...1024: predict images/s with so many processes, instead of stages ('...' doubles)"},
        {"--network", "", "between nodes: bandwidth and latency, such as 100Gbps,1.5us; 'measure' under mpirun"},
        {"--ranks-per-node", "", "processes that share a node (default: 1, or those that mpirun started on one)"},
        {"--node-network", "", "between processes of a node (default: as fast as adding, 1us)"},
        {"--adding-rate", "", "gradients that a process adds, such as 5GB/s (default: measured here)"},
        {"--images-per-second", "", "of one process: all times are scaled to this rate, of another machine, say"},
    };
    return flags;
}

/// The options of a plan in full; all other words are the training line.
bool of_line(const std::string& word, bool) {
    return std::ranges::find(own_flags(), word.substr(0, word.find('=')), &Flag::name) == own_flags().end();
}

/// "train", "train.py" and "some/folder/train.py" may stand before the options of the line; another command may not.
void drop_command(std::vector<std::string>& line) {
    if (line.empty() || line.front().starts_with('-')) return;
    const config::Command command = config::command_named(line.front());
    if (command != config::Command::train) {
        throw Error(ErrorKind::usage,
                    "cnntrain plan takes the options of 'train', not of '" + std::string(config::name(command)) + "'");
    }
    line.erase(line.begin());
}

plan::PlanSettings settings_from(const Flags& flags) {
    constexpr std::int64_t kMostSteps = 1000;
    constexpr std::int64_t kMostStages = 10000;
    constexpr double kMostGb = 1e6;
    const auto text = [&](std::string_view name) {
        return flags.given(name) ? std::optional(flags.text(name)) : std::nullopt;
    };
    plan::PlanSettings settings;
    settings.profile = text("--profile");
    settings.svg = text("--svg");
    settings.steps = flags.integer("--steps", 1, kMostSteps);
    settings.measure = !flags.given("--no-measure");
    if (flags.given("--stages")) settings.stages = static_cast<std::int32_t>(flags.integer("--stages", 2, kMostStages));
    if (flags.given("--memory-limit"))
        settings.memory_limit_bytes = static_cast<std::uint64_t>(1e9 * flags.number("--memory-limit", 0, kMostGb));
    return settings;
}

/// The line as the processes that are planned would read it.
config::ParseResult parsed_line(const std::vector<std::string>& words, const Flags& flags) {
    config::Environment environment = config::process_environment();
    if (flags.given("--processes")) environment.launch.processes = parse_processes(flags.text("--processes")).back();
    return tasks::parse_command_line(config::Command::train, words, environment);
}

constexpr const char* kExplanation =
    "\nShows the stages of a training line, how long each of them takes, what it keeps in memory, the chart of the "
    "schedule, "
    "the\ntime of a weight update, and the splits that are best:\n"
    "  cnntrain plan train.py --model resnet --model-size 50 --dataset imagenet --generated-data --batch-norm "
    "--pipeline \\\n"
    "      --pipeline-splits stage3/unit1 --gradient-accumulation-count 8 --profile resnet50.json --svg chart.svg\n"
    "For a line without --pipeline it proposes splits. With --processes it predicts what so many processes reach:\n"
    "  cnntrain plan train.py --model resnet --model-size 50 --dataset imagenet --generated-data --batch-norm \\\n"
    "      --micro-batch-size 32 --processes 1,2,4...1024 --ranks-per-node 2 --network 100Gbps,1.5us --svg "
    "scaling.svg\n"
    "  mpirun -np 4 cnntrain plan train.py ... --processes 1...64 --network measure\n"
    "Neither data nor checkpoints are looked for. All other options "
    "are "
    "those\nof `cnntrain train --help`.\n";

}  // namespace

int plan_command(const Invocation& invocation) {
    const Flags flags(called(invocation), own_flags(), invocation.arguments, of_line);
    std::vector<std::string> words = flags.rest();
    drop_command(words);
    if (flags.print_help_if_wanted(kExplanation)) return 0;
    plan::PlanSettings settings = settings_from(flags);
    check_process_flags(flags);
    const std::optional<comm::World> world = comm::read_launched(comm::process_environment()).world;
    const bool is_first = !world || world->rank == 0;
    const config::ParseResult line = parsed_line(words, flags);
    for (const std::string& notice : line.notices) {
        if (is_first) log::info(notice);
    }
    const train::TaskRow& task = tasks::row_of(line);
    train::check_stages(task, line.settings);
    require_run_memory(line.settings, config::Command::plan);
    catch_stop_signals();
    if (flags.given("--processes")) settings.processes = process_plan(flags, world);
    if (!is_first) return 0;  // one plan is enough
    plan::plan_training(task, line, settings, process_host(invocation));
    return 0;
}

}  // namespace cnntrain::cli
