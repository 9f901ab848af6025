// `cnntrain benchmark`: its options, and the resources that cnntrain::benchmark gets from the process.
#include "cnntrain/launch/benchmark.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/poprun.h"
#include "cnntrain/base/environment.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/options/line.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/observer.h"

namespace cnntrain::cli {
namespace {

using benchmark::Request;
using Values = std::vector<std::string>;

[[noreturn]] void refuse_benchmark(const std::string& message) {
    throw Error(ErrorKind::usage, "benchmark: " + message);
}

/// The parsed command line.
struct Line {
    Request request;
    bool help = false;
    bool list = false;
    bool dry_run = false;
    Values without_effect;
};

using options::Takes;

struct BenchmarkOption {
    std::string_view flag;
    Takes takes;
    std::string_view placeholder;
    std::string_view help;                                      // empty: not listed
    void (*apply)(Line& line, const Values& values) = nullptr;  // null: the option has no effect here
};

double positive(const std::string& text, std::string_view flag) {
    constexpr double kMostSeconds = 1e9;
    const std::optional<double> value = as_number<double>(text);
    if (!value || !(*value > 0 && *value <= kMostSeconds))
        refuse_benchmark(std::string(flag) + " expects a number of seconds above 0 and up to 1e9, got '" + text + "'");
    return *value;
}

void set_level(Line& line, const Values& values) {
    const auto level = named<benchmark::LogLevel>(values.front());
    if (!level) {
        constexpr auto kNames = spellings(benchmark::LogLevel{});
        refuse_benchmark("--logging expects DEBUG, INFO, WARNING, ERROR or CRITICAL, got '" + values.front() + "'" +
                         suggestion(values.front(), {kNames.begin(), kNames.end()}, "", "", ""));
    }
    line.request.log_level = *level;
}

/// Adds overrides such as "iterations=2", or "no-logs" for a switch.
void add_overrides(Line& line, const Values& values) {
    for (const std::string& text : values) {
        const std::size_t equals = text.find('=');
        std::string name = text.substr(0, equals);
        while (name.starts_with('-'))
            name.erase(0, 1);
        if (name.empty()) refuse_benchmark("--set expects NAME=VALUE, got '" + text + "'");
        std::ranges::replace(name, '_', '-');
        benchmark::Override added{name, std::nullopt};
        if (equals != std::string::npos) added.value = text.substr(equals + 1);
        line.request.overrides.push_back(std::move(added));
    }
}

[[noreturn]] void refuse_python_metrics(Line&, const Values&) {
    throw Error(ErrorKind::unsupported,
                "benchmark: --custom-metrics-files: metrics written in Python cannot be run; use regexp or expr in the "
                "spec");
}

constexpr BenchmarkOption kOptions[] = {
    {"--spec", Takes::several, "FILE",
     "Files with benchmarks; a missing file is replaced by the shipped one of that name (default benchmarks.yml).",
     [](Line& line, const Values& values) { line.request.spec_files = values; }},
    {"--benchmark", Takes::several, "NAME",
     "Benchmarks to run, in this order (default: all except those that train to convergence).",
     [](Line& line, const Values& values) {
         line.request.benchmarks.insert(line.request.benchmarks.end(), values.begin(), values.end());
     }},
    {"--set", Takes::several, "NAME=VALUE",
     "Overrides options of every program, to shorten it or to try something: --set iterations=2 repeat=1 no-logs "
     "appends --iterations 2 --repeat 1 --no-logs. Options for the same quantity (--epochs) are removed.",
     add_overrides},
    {"--list", Takes::nothing, "", "List the benchmarks and stop.",
     [](Line& line, const Values&) { line.list = true; }},
    {"--dry-run", Takes::nothing, "", "Print the commands that would be run and stop.",
     [](Line& line, const Values&) { line.dry_run = true; }},
    {"--include-convergence", Takes::nothing, "",
     "Also run benchmarks that train to convergence, for days (_conv in their names).",
     [](Line& line, const Values&) { line.request.include_convergence = true; }},
    {"--stop-on-error", Takes::nothing, "", "Stop after the first variant that fails.",
     [](Line& line, const Values&) { line.request.stop_on_error = true; }},
    {"--timeout", Takes::one, "SECONDS", "Time limit of each variant.",
     [](Line& line, const Values& values) { line.request.timeout_seconds = positive(values.front(), "--timeout"); }},
    {"--compile-only", Takes::nothing, "", "Give --compile-only to the programs; nothing is measured.",
     [](Line& line, const Values&) { line.request.compile_only = true; }},
    {"--profile", Takes::nothing, "", "Give --profile to the programs: trainings write where their time goes.",
     [](Line& line, const Values&) { line.request.profile = true; }},
    {"--allow-wandb", Takes::nothing, "", "Keep the options of Weights & Biases, which are otherwise removed.",
     [](Line& line, const Values&) { line.request.allow_wandb = true; }},
    {"--log-dir", Takes::one, "FOLDER", "Folder for logs and results (default: ./log_<time>).",
     [](Line& line, const Values& values) { line.request.log_folder = values.front(); }},
    {"--logging", Takes::one, "LEVEL", "DEBUG, INFO, WARNING, ERROR or CRITICAL (default INFO).", set_level},
    {"--additional-metrics", Takes::nothing, "", "More columns in the CSV file: duration, loss, result, command, ...",
     [](Line& line, const Values&) { line.request.additional_metrics = true; }},
    {"--csv-metrics", Takes::several, "METRIC", "Metrics to add as columns to the CSV file.",
     [](Line& line, const Values& values) { line.request.csv_metrics = values; }},
    {"--progress-trace-period", Takes::one, "SECONDS", "Interval between updates of the progress line (default 1).",
     [](Line& line, const Values& values) {
         line.request.progress_seconds = positive(values.front(), "--progress-trace-period");
     }},
    {"--help", Takes::nothing, "", "Print this text.", [](Line& line, const Values&) { line.help = true; }},
    {"--help-all", Takes::nothing, "", "", [](Line& line, const Values&) { line.help = true; }},
    {"--ignore-errors", Takes::nothing, "", "", [](Line&, const Values&) {}},  // already the behaviour
    {"--gc-monitor", Takes::nothing, "", ""},
    {"--no-code-sync", Takes::nothing, "", ""},
    {"--remove-dirs-after", Takes::nothing, "", ""},
    {"--requirements-file", Takes::one, "", ""},
    {"--upload-checkpoints", Takes::several, "", ""},
    {"--custom-metrics-files", Takes::several, "", "", refuse_python_metrics},
};

Line parse(const Values& arguments) {
    std::vector<options::Spelling> spellings = {{"-h", "--help", Takes::nothing, "true", false}};
    for (const BenchmarkOption& option : kOptions) {
        spellings.push_back({std::string(option.flag), std::string(option.flag), option.takes, "true",
                             option.flag != options::kHelpAllFlag});
    }
    options::LineHabits habits{.program = "benchmark", .hyphen_values = true};
    habits.unknown = [](const std::string& word, bool) -> std::optional<options::Spelling> {
        const std::string flag = word.substr(0, word.find('='));
        if (flag.starts_with("--submit-on-") || flag.starts_with("--slurm"))
            throw Error(ErrorKind::unsupported, "benchmark: " + flag + ": there is no batch queue here");
        return std::nullopt;
    };
    Line line;
    for (const options::GivenValues& given : options::read_line(spellings, arguments, habits).options) {
        const auto apply = std::ranges::find(kOptions, given.option, &BenchmarkOption::flag)->apply;
        if (apply == nullptr) line.without_effect.push_back(given.option);
        if (apply != nullptr) apply(line, given.values);
    }
    return line;
}

constexpr std::string_view kBenchmarkExplanation =
    "\n"
    "Each benchmark has one variant per combination of its parameters. The log folder receives\n"
    "benchmark_results.csv, .json and .xml, output.log with the output of all programs, and a folder for\n"
    "each variant. Exit code: 0 if all passed, 1 if a variant failed, 2 for a wrong command line, 3 if\n"
    "something that is needed is missing (a spec, a variable), 143 after SIGTERM, SIGINT or SIGHUP.\n";

benchmark::Host process_host() {
    benchmark::Host host;
    host.machine = launch::this_machine(process_variables(), own_program());
    host.spec_folders = options::process_environment().config_folders;
    host.output = &terminal_output();
    host.notes = &std::cerr;
    host.terminal_width = columns_of(terminal_of(STDERR_FILENO, process_variables()), 0);
    host.stop_requested = stop_requested;
    return host;
}

/// `examples_utils benchmark ...` repeats the command's name.
Values own_arguments(const Invocation& invocation) {
    Values arguments = invocation.arguments;
    const bool doubled = invocation.command == "examples_utils";
    if (!doubled) return arguments;
    if (arguments.empty() || arguments.front() != "benchmark")
        refuse_benchmark("'benchmark' is the only command of examples_utils that is available");
    arguments.erase(arguments.begin());
    return arguments;
}

}  // namespace

options::HelpPage benchmark_page(const std::string& called) {
    options::HelpPage page{.called = called};
    page.summary = "Runs the benchmarks of a benchmarks.yml, one process per variant, and prints what they measured.";
    page.examples =
        "  cnntrain benchmark --list\n"
        "  cnntrain benchmark --benchmark tf1_resnet50_infer_synth_1ipu --set iterations=2 repeat=2\n";
    for (const BenchmarkOption& option : kOptions) {
        if (option.help.empty()) continue;
        options::HelpRow row{.flag = std::string(option.flag), .value = std::string(option.placeholder)};
        if (option.takes != Takes::nothing)
            row.arity = option.takes == Takes::several ? options::Arity::several : options::Arity::one;
        row.path = row.value == "FILE" || row.value == "FOLDER";
        row.help = row.summary = option.help;
        page.rows.push_back(std::move(row));
    }
    page.more = kBenchmarkExplanation;
    return page;
}

int benchmark_command(const Invocation& invocation) {
    const Line line = parse(own_arguments(invocation));
    if (line.help) {
        const bool doubled = invocation.command == "examples_utils";
        const options::HelpWish wish = options::help_wish(invocation.arguments).value_or(options::HelpWish());
        std::cout << options::help_text(benchmark_page(called(invocation) + (doubled ? " benchmark" : "")), wish);
        return 0;
    }
    if (!line.without_effect.empty()) log::info("without effect here:" + each_behind(" ", line.without_effect));
    const benchmark::Host host = process_host();
    if (line.list || line.dry_run) {
        std::cout << (line.list ? benchmark::list_text(line.request, host)
                                : benchmark::planned_commands(line.request, host));
        return 0;
    }
    catch_stop_signals();
    return benchmark::run(line.request, host);
}

}  // namespace cnntrain::cli
