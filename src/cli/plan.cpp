#include <algorithm>
#include <cmath>
#include <iostream>
#include <optional>
#include <string>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/flags.h"
#include "cli/poprun.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/insight/plan.h"
#include "cnntrain/parallel/communicator.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/tasks/tasks.h"

namespace cnntrain::cli {
namespace {

// The part of `cnntrain plan` that predicts several processes, on a network described by flags or measured.

constexpr std::string_view kMeasure = "measure";
constexpr std::int64_t kMostRanksPerNode = 10'000;
constexpr double kMostImagesPerSecond = 1e9;
constexpr double kMsPerSecond = 1e3;

std::int64_t ranks_per_node(const Flags& flags, std::int64_t otherwise) {
    return flags.given("--ranks-per-node") ? flags.integer("--ranks-per-node", 1, kMostRanksPerNode) : otherwise;
}

/// Describes the network from the flags; fills in defaults for those not given.
void describe_network(const Flags& flags, plan::ProcessPlan& plan) {
    constexpr double kUsualLatencyMs = 1e-3;
    plan.ranks_per_node = ranks_per_node(flags, 1);
    plan.network.between_nodes = parse_link(flags.text("--network"), "--network");
    const bool rate_given = flags.given("--adding-rate");
    plan.network.adding_ms_per_byte = rate_given ? 1 / parse_bandwidth(flags.text("--adding-rate"), "--adding-rate")
                                                 : comm::adding_seconds_per_byte() * kMsPerSecond;
    const bool node_given = flags.given("--node-network");
    plan.network.inside_node = node_given ? parse_link(flags.text("--node-network"), "--node-network")
                                          : plan::Link{kUsualLatencyMs, 1 / plan.network.adding_ms_per_byte};
    plan.network_from = "between nodes " + plan::link_text(plan.network.between_nodes) + " (as given); ";
    if (plan.ranks_per_node > 1) {
        plan.network_from += "inside a node " + plan::link_text(plan.network.inside_node) +
                             (node_given ? " (as given); " : " (assumed: as fast as adding); ");
    }
    plan.network_from += formatted("adding %.3g GB/s (", kMsPerSecond / 1e9 / plan.network.adding_ms_per_byte) +
                         (rate_given ? "as given)" : "measured here)");
}

/// Measures the network between the ranks that mpirun started. Only rank 0 continues after that.
void measure_network(const Flags& flags, const std::optional<comm::World>& world, plan::ProcessPlan& plan) {
    for (const char* flag : {"--node-network", "--adding-rate"}) {
        if (flags.given(flag)) refuse_line("--network measure measures " + std::string(flag) + ", too; leave it out");
    }
    if (!world || world->size < 2)
        refuse_line("--network measure needs processes to measure between: mpirun -np 2 cnntrain plan ...");
    const auto given = static_cast<int>(ranks_per_node(flags, 0));
    const auto communicator = comm::make_mpi_communicator({.ranks_per_node = given});
    plan.ranks_per_node = given > 0 ? given : communicator->local_size();
    const bool one_node = communicator->local_size() == communicator->size();
    if (one_node && plan.counts.back() > plan.ranks_per_node) {
        refuse_line("--network measure: all " + std::to_string(communicator->size()) +
                    " ranks share a node, so nothing can be measured between nodes, which " +
                    std::to_string(plan.counts.back()) +
                    " processes need; start ranks on several hosts, or count each as a node with --ranks-per-node 1");
    }
    const comm::NetworkTimes times = comm::measure_network(*communicator, {});
    plan.network = plan::network_of(times);
    const plan::ProcessGrid grid{communicator->size(), communicator->local_size()};
    plan.network_from = "measured between " + std::to_string(grid.processes) + " ranks, " +
                        std::to_string(grid.ranks_per_node) + " on a node: " + plan::measured_text(times);
    if (communicator->rank() == 0) {
        std::cout << "Sums of gradients between these ranks, measured and as predicted from the measured messages:\n"
                  << plan::sums_text(times, grid) << '\n';
    }
    communicator->finish();
}

/// Error(usage) for flags that need --processes or contradict it.
void check_process_flags(const Flags& flags) {
    if (!flags.given("--processes")) {
        for (const char* flag : {"--network", "--ranks-per-node", "--node-network", "--adding-rate",
                                 "--images-per-second", "--step-spread", "--input-rate"}) {
            if (flags.given(flag)) refuse_line(std::string(flag) + " needs --processes");
        }
        return;
    }
    if (!flags.given("--network"))
        refuse_line("--processes needs --network, such as 100Gbps,1.5us, or 'measure' under mpirun");
    for (const char* flag : {"--stages", "--memory-limit"}) {
        if (flags.given(flag))
            refuse_line(std::string(flag) + " applies to stages, which are not shown with --processes");
    }
}

/// Reads the options of --processes. With --network measure, all ranks of `world` must call this function; rank 0
/// prints the measurements.
plan::ProcessPlan process_plan(const Flags& flags, const std::optional<comm::World>& world) {
    plan::ProcessPlan plan;
    plan.counts = parse_processes(flags.text("--processes"));
    if (flags.given("--images-per-second"))
        plan.samples_per_second = flags.number("--images-per-second", 1e-6, kMostImagesPerSecond);
    if (flags.given("--step-spread")) plan.step_spread = parse_share(flags.text("--step-spread"), "--step-spread");
    if (flags.given("--input-rate"))
        plan.input_samples_per_second = flags.number("--input-rate", 1e-6, kMostImagesPerSecond);
    if (flags.text("--network") == kMeasure) {
        measure_network(flags, world, plan);
    } else {
        describe_network(flags, plan);
    }
    return plan;
}

// `cnntrain plan`: draws the pipeline of a training command line, or predicts its speed on several processes.

/// True for words of the training command line: all but the options of `plan`, which must be written in full.
bool is_of_planned_line(const std::string& word, bool) {
    const std::string flag = word.substr(0, word.find('='));
    return std::ranges::none_of(plan_flags().flags,
                                [&](const Flag& own) { return own.name == flag || own.alias == flag; });
}

/// The commands that train, each between `before` and `after`: "'train' or 'pretrain'".
std::string training_words(const std::string& before, const std::string& after) {
    std::vector<std::string> words;
    for (const options::Command command : tasks::training_commands())
        words.push_back(before + std::string(options::name(command)) + after);
    return listed(words, "or");
}

plan::PlanSettings plan_settings(const Flags& flags) {
    constexpr std::int64_t kMostSteps = 1000;
    constexpr std::int64_t kMostStages = 10000;
    constexpr double kMostGb = 1e6;
    const auto text = [&](std::string_view name) {
        return flags.given(name) ? std::optional(flags.text(name)) : std::nullopt;
    };
    plan::PlanSettings settings;
    settings.profile = text("--profile");
    settings.steps = flags.given("--processes") ? 10 : 3;
    if (flags.given("--steps")) settings.steps = flags.integer("--steps", 1, kMostSteps);
    settings.measure = !flags.given("--no-measure");
    if (flags.given("--stages")) settings.stages = static_cast<std::int32_t>(flags.integer("--stages", 2, kMostStages));
    if (flags.given("--memory-limit"))
        settings.memory_limit_bytes = static_cast<std::uint64_t>(1e9 * flags.number("--memory-limit", 0, kMostGb));
    return settings;
}

/// Parses the training command line as the planned processes would.
options::ParseResult parsed_line(options::Command command, const std::vector<std::string>& words, const Flags& flags) {
    options::Environment environment = options::process_environment();
    if (flags.given("--processes")) environment.launch.processes = parse_processes(flags.text("--processes")).back();
    options::ParseResult line = tasks::parse_command_line(command, words, environment);
    if (!line.settings.main.trains)
        throw Error(ErrorKind::usage, "cnntrain plan is about training, and the line evaluates; leave out --evaluate");
    if (line.settings.run.backend == backend::BackendKind::ipu)
        throw Error(ErrorKind::unsupported, "cnntrain plan predicts times of CPUs, not of --backend ipu; leave it out");
    return line;
}

constexpr const char* kPlanExplanation =
    "\nShows the stages of a training command line, the time and memory of each, the chart of the schedule,\n"
    "the time of a weight update, and the best splits:\n"
    "  cnntrain plan train.py --model resnet --model-size 50 --dataset imagenet --generated-data --batch-norm "
    "--pipeline \\\n"
    "      --pipeline-splits stage3/unit1 --gradient-accumulation-count 8\n"
    "Without --pipeline, proposes splits. With --processes, predicts the speed of several processes:\n"
    "  cnntrain plan train.py --model resnet --model-size 50 --dataset imagenet --generated-data --batch-norm \\\n"
    "      --micro-batch-size 32 --processes 1,2,4...1024 --ranks-per-node 2 --network 100Gbps,1.5us\n"
    "  mpirun -np 4 cnntrain plan train.py ... --processes 1...64 --network measure\n"
    "BERT is planned alike:\n"
    "  cnntrain plan pretrain --config pretrain_base_128_phase1 --generated-data --stages 2\n"
    "Reads neither data nor checkpoints, except texts with classes, which it counts. All other options are those of\n";

std::string explanation() {
    return kPlanExplanation + training_words("`cnntrain ", " --help`") + ".\n";
}

}  // namespace

CommandFlags plan_flags() {
    return {
        {{"--stages", "", "stages of the proposed splits (default: those of the command line, or 2)"},
         {"--memory-limit", "", "GB: memory limit of each stage of the proposed splits"},
         {"--profile", "", "profile.json of this line, from cnntrain profile: measured times of its operations"},
         {"--steps", "", "number of weight updates to measure (default: 3, or 10 with --processes)"},
         toggle("--no-measure", "estimate times from FLOPs that the profile does not have"),
         {"--processes", "",
          "1,2,4...1024: predict samples/s with these numbers of processes, instead of stages ('...' doubles)"},
         {"--network", "", "between nodes: bandwidth and latency, such as 100Gbps,1.5us; 'measure' under mpirun"},
         {"--ranks-per-node", "", "processes per node (default: 1, or as started by mpirun)"},
         {"--node-network", "", "between processes of a node (default: as fast as adding, 1us)"},
         {"--adding-rate", "", "speed at which a process adds gradients, such as 5GB/s (default: measured here)"},
         {"--step-spread", "",
          "standard deviation of a process's step, such as 5%: the slowest process decides (default: measured here)"},
         {"--input-rate", "",
          "samples/s that the input of a process delivers, as --dataset-benchmark prints them (default: enough)"},
         {"--images-per-second", "", "rate of one process, for example on another machine; all times are scaled to it",
          "--samples-per-second"}},
        explanation()};
}

int plan_command(const Invocation& invocation) {
    const Flags flags(plan_flags(), called(invocation), invocation.arguments, is_of_planned_line);
    std::vector<std::string> words = flags.rest();
    const options::Command command = leading_command(words, tasks::training_commands(),
                                                     "cnntrain plan takes the options of " + training_words("'", "'"));
    if (flags.print_help_if_wanted()) return 0;
    plan::PlanSettings settings = plan_settings(flags);
    check_process_flags(flags);
    const std::optional<comm::World> world = comm::read_launched(process_variables()).world;
    const bool is_first = !world || world->rank == 0;
    const options::ParseResult line = parsed_line(command, words, flags);
    for (const std::string& notice : line.notices) {
        if (is_first) log::info(notice);
    }
    const run::TaskRow& task = tasks::row_of(line);
    run::check_stages(task, line.settings);
    require_run_memory(line.settings, options::Command::plan);
    catch_stop_signals();
    if (flags.given("--processes")) settings.processes = process_plan(flags, world);
    if (!is_first) return 0;  // only one process prints the plan
    plan::plan_training(task, line, settings, process_host(invocation));
    return 0;
}

}  // namespace cnntrain::cli
