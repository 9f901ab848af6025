// Times whole training (or evaluation) steps of a model: samples/s with their spread, memory, and the share of
// convolutions and matrix products. `cnntrain profile` says where the time goes.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/processor.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/tasks/tasks.h"
#include "run/profiling.h"
#include "run_tool.h"

namespace cnntrain {
namespace {

struct Options {
    int steps = 10;
    int warmup = 2;
    bool evaluate = false;
    bool step_only = false;
};

/// A run on made-up data as `cnntrain train` would understand it, or the command that is the first word.
options::ParseResult parse(std::vector<std::string> arguments) {
    options::Command command = options::Command::train;
    if (!arguments.empty() && !arguments.front().starts_with('-')) {
        command = options::command_named(arguments.front());
        arguments.erase(arguments.begin());
    }
    arguments.emplace_back(command == options::Command::train ? "--synthetic-data" : "--generated-data");
    options::ParseResult parsed = tasks::parse_command_line(command, arguments, options::process_environment());
    options::refuse_unavailable(parsed);
    run::check_stages(tasks::row_of(parsed), parsed.settings);
    return parsed;
}

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The steps that are timed, and their line.
struct Bench {
    Bench(const Options& options, const std::vector<std::string>& arguments)
        : parsed(parse(arguments)), steps(tasks::row_of(parsed), parsed, host, options.evaluate) {}

    const char* unit() const { return steps.task().columns().unit.many.c_str(); }

    options::ParseResult parsed;
    run::Host host = {};
    run::LineSteps steps;
};

void print_head(Bench& bench, const std::vector<std::string>& arguments) {
    const backend::CompileReport& report = bench.steps.executable().report();
    std::printf("%s of", bench.steps.evaluates() ? "evaluation" : "training");
    for (const std::string& argument : arguments)
        std::printf(" %s", argument.c_str());
    std::printf("; %d threads\n", bench.steps.threads());
    std::printf(
        "compiled in %.2f s; weights and copies %.0f MB, activations and gradients %.0f MB, %.1f GFLOP a micro-batch\n",
        report.seconds, static_cast<double>(report.parameter_bytes) / 1e6,
        static_cast<double>(report.arena_bytes) / 1e6, report.flops_per_micro_batch / 1e9);
}

void time_steps(Bench& bench, const Options& options) {
    for (int i = 0; i < options.warmup; ++i)
        bench.steps.step();
    std::vector<double> seconds;
    for (int i = 0; i < options.steps; ++i) {
        const double start = seconds_now();
        bench.steps.step();
        seconds.push_back(seconds_now() - start);
    }
    const double mean = std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
    const auto samples = static_cast<double>(bench.steps.samples_per_step());
    const double typical = median(seconds);
    const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
    const char* const unit = bench.unit();
    std::printf("whole step: %.1f %s/s (median of %td; %.1f to %.1f), %.1f ms a step (%.1f to %.1f), mean %.1f %s/s\n",
                samples / typical, unit, std::ssize(seconds), samples / *most, samples / *least, 1e3 * typical,
                1e3 * *least, 1e3 * *most, samples / mean, unit);
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("peak memory of the process: %.2f GB\n", static_cast<double>(usage.ru_maxrss) / 1048576.0);
}

/// Prints the share of convolutions and matrix products in the time of some more steps.
void print_share_of_products(Bench& bench) {
    constexpr int kSteps = 3;
    backend::Executable& executable = bench.steps.executable();
    executable.set_profiling(true);
    for (int i = 0; i < kSteps; ++i)
        bench.steps.step();
    double all = 0;
    double products = 0;
    for (const backend::ProfileRow& row : executable.profile().rows) {
        const double ms = row.milliseconds * static_cast<double>(row.runs) * row.occupied;
        all += ms;
        if (row.op.starts_with("conv2d") || row.op.starts_with("dense") || row.op.starts_with("attention"))
            products += ms;
    }
    std::printf("convolutions and matrix products take %.0f %% of the time of all operations\n", 100 * products / all);
}

void time_line(const Options& options, const std::vector<std::string>& arguments) {
    Bench bench(options, arguments);
    print_head(bench, arguments);
    time_steps(bench, options);
    if (!options.step_only) print_share_of_products(bench);
}

}  // namespace
}  // namespace cnntrain

int main(int argc, char** argv) {
    cnntrain::limit_spinning(argv);
    cnntrain::Options options;
    CLI::App app{
        "Times whole steps of a run on made-up data. All other options are those of `cnntrain train`, or of `cnntrain "
        "pretrain` when that is the first word of them, for example:\n"
        "  bench_step --model efficientnet --model-size B0 --dataset imagenet --micro-batch-size 16\n"
        "  bench_step pretrain --config pretrain_base_128_phase1 --gradient-accumulation-count 10"};
    app.option_defaults()->always_capture_default();
    app.add_option("--steps", options.steps, "timed steps")->check(CLI::PositiveNumber);
    app.add_option("--warmup", options.warmup, "untimed steps first");
    app.add_flag("--evaluate", options.evaluate, "time evaluation instead of training");
    app.add_flag("--step-only", options.step_only, "time whole steps and nothing else");
    app.allow_extras();
    return cnntrain::run_tool(app, argc, argv, [&] {
        cnntrain::time_line(options, app.remaining());
        return 0;
    });
}
