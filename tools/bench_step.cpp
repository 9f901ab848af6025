// Times whole training (or evaluation) steps of a model on the CPU backend and says where the time goes:
// samples/s with their spread, the rate that the convolutions and matrix products alone reach in the same process, a
// table per operation, remaining reorders, memory, GFLOP/s against a measured peak.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/spinning.h"
#include "cnntrain/config/parse.h"
#include "cnntrain/nn/initialise.h"
#include "cnntrain/tasks/tasks.h"
#include "cnntrain/train/backends.h"
#include "cnntrain/train/compile_request.h"
#include "cnntrain/train/loading.h"
#include "cnntrain/train/stages.h"
#include "products.h"
#include "run_tool.h"

namespace cnntrain {

namespace {

struct Options {
    int steps = 10;
    double seconds = 0;
    int warmup = 2;
    int rows = 25;
    bool evaluate = false;
    bool table = false;
    bool step_only = false;
};

constexpr std::uint64_t kSeed = 1;
constexpr double kLearningRate = 1e-4;

/// A run on made-up data as `cnntrain train` would understand it, or the command that is the first word.
config::ParseResult parse(std::vector<std::string> arguments) {
    config::Command command = config::Command::train;
    if (!arguments.empty() && !arguments.front().starts_with('-')) {
        command = config::command_named(arguments.front());
        arguments.erase(arguments.begin());
    }
    arguments.emplace_back(command == config::Command::train ? "--synthetic-data" : "--generated-data");
    config::ParseResult parsed = tasks::parse_command_line(command, arguments, config::process_environment());
    config::refuse_unavailable(parsed);
    train::check_stages(tasks::row_of(parsed), parsed.settings);
    return parsed;
}

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

bool is_product(const backend::ProfileRow& row) {
    return row.op.starts_with("conv2d") || row.op.starts_with("dense") || row.op.starts_with("attention");
}

double total_ms(const std::vector<backend::ProfileRow>& rows, bool (*wanted)(const backend::ProfileRow&)) {
    double total = 0;
    for (const backend::ProfileRow& row : rows) {
        if (wanted(row)) total += row.milliseconds;
    }
    return total;
}

void print_by_op(const std::vector<backend::ProfileRow>& rows) {
    struct Sum {
        double ms = 0, gflop = 0, mb = 0;
        int count = 0;
    };
    std::map<std::string, Sum> by_op;
    double all = 0;
    for (const backend::ProfileRow& row : rows) {
        Sum& sum = by_op[row.op];
        sum.ms += row.milliseconds;
        sum.gflop += row.gflops;
        sum.mb += row.megabytes;
        ++sum.count;
        all += row.milliseconds;
    }
    std::vector<std::pair<std::string, Sum>> ordered(by_op.begin(), by_op.end());
    std::sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.second.ms > b.second.ms; });
    std::printf("%-28s %6s %10s %7s %10s %8s\n", "operation", "count", "ms", "share", "GFLOP/s", "GB/s");
    for (const auto& [op, sum] : ordered) {
        std::printf("%-28s %6d %10.2f %6.1f%% %10.1f %8.1f\n", op.c_str(), sum.count, sum.ms, 100 * sum.ms / all,
                    sum.gflop / sum.ms * 1e3, sum.mb / sum.ms);
    }
}

void print_longest(std::vector<backend::ProfileRow> rows, int limit) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.milliseconds > b.milliseconds; });
    std::printf("\n%-60s %-22s %-30s %9s %9s %7s\n", "longest steps", "operation", "implementation", "ms", "GFLOP/s",
                "GB/s");
    for (int i = 0; i < limit && i < static_cast<int>(rows.size()); ++i) {
        const backend::ProfileRow& row = rows[static_cast<std::size_t>(i)];
        std::printf("%-60s %-22s %-30s %9.3f %9.1f %7.1f\n", row.name.c_str(), row.op.c_str(),
                    row.implementation.c_str(), row.milliseconds, row.gflops / row.milliseconds * 1e3,
                    row.megabytes / row.milliseconds);
    }
}

/// What is timed.
struct Bench {
    Bench(const Options& options, const std::vector<std::string>& arguments)
        : parsed(parse(arguments)),
          backend(train::make_backend(parsed.settings.run.backend)),
          task(tasks::row_of(parsed).make(parsed, *backend, kSeed)),
          evaluates(options.evaluate),
          samples(task->open(evaluates ? data::Split::validation : data::Split::train)) {
        const config::Settings& settings = parsed.settings;
        plan.samples = settings.training.micro_batch_size;
        if (!evaluates) plan = train::placement(settings, *backend);
        micro_batch = plan.samples;
        const std::vector<data::Field> fields = samples->fields(micro_batch);
        graph.emplace(evaluates ? task->evaluation_graph(fields) : task->training_graph(fields));
        const backend::CompileRequest request = evaluates ? train::compile_request(*graph, settings, fields, kSeed)
                                                          : train::training_request(*graph, settings, fields, kSeed);
        threads = request.cpu.threads;
        executable = backend->compile(request);
        for (const graph::ValueId id : graph->variables())
            executable->load(graph->value(id).name, nn::initial_value(graph->value(id), kSeed));
        stream = samples->stream(evaluates ? train::loader_settings(settings, 0)
                                           : train::training_loader_settings(settings, plan, fields, 0));
    }

    void step() {
        if (evaluates) {
            executable->evaluate(*stream, plan.micro_batches);
        } else {
            executable->train_step(*stream, {kLearningRate, iteration++});
        }
    }
    std::int64_t samples_per_step() const { return micro_batch * plan.micro_batches; }

    config::ParseResult parsed;
    std::unique_ptr<backend::Backend> backend;
    std::unique_ptr<train::Task> task;
    bool evaluates;
    std::unique_ptr<train::Samples> samples;
    std::int64_t micro_batch = 0;
    schedule::Placement plan;
    std::optional<graph::Graph> graph;
    int threads = 0;
    std::unique_ptr<backend::Executable> executable;
    std::unique_ptr<data::Stream> stream;
    std::int64_t iteration = 0;
};

void print_head(const Bench& bench, const std::vector<std::string>& arguments) {
    const backend::CompileReport& report = bench.executable->report();
    std::printf("%s of", bench.evaluates ? "evaluation" : "training");
    for (const std::string& argument : arguments)
        std::printf(" %s", argument.c_str());
    std::printf("; %d threads\n", bench.threads);
    std::printf(
        "compiled in %.2f s; weights and copies %.0f MB, activations and gradients %.0f MB, %.1f GFLOP a micro-batch\n",
        report.seconds, static_cast<double>(report.parameter_bytes) / 1e6,
        static_cast<double>(report.arena_bytes) / 1e6, report.flops_per_micro_batch / 1e9);
}

/// Seconds of a step.
struct StepTimes {
    double typical = 0;
    double least = 0;
};

StepTimes time_steps(Bench& bench, const Options& options) {
    for (int i = 0; i < options.warmup; ++i)
        bench.step();
    std::vector<double> seconds;
    const double first = seconds_now();
    while (std::ssize(seconds) < options.steps || seconds_now() - first < options.seconds) {
        const double start = seconds_now();
        bench.step();
        seconds.push_back(seconds_now() - start);
    }
    const double mean = std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
    const auto samples = static_cast<double>(bench.samples_per_step());
    const double typical = median(seconds);
    const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
    const char* const unit = bench.task->columns().unit.many.c_str();
    std::printf("whole step: %.1f %s/s (median of %td; %.1f to %.1f), %.1f ms a step (%.1f to %.1f), mean %.1f %s/s\n",
                samples / typical, unit, std::ssize(seconds), samples / *most, samples / *least, 1e3 * typical,
                1e3 * *least, 1e3 * *most, samples / mean, unit);
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("peak memory of the process: %.2f GB\n", static_cast<double>(usage.ru_maxrss) / 1048576.0);
    return {typical, *least};
}

/// The products' times are the least of several, each by itself: beside busy processes the fastest step is what
/// compares with them.
void compare_with_products(Bench& bench, const StepTimes& step) {
    constexpr int kRepeats = 5;
    const auto micro_batches = static_cast<double>(bench.plan.micro_batches);
    const auto samples = static_cast<double>(bench.samples_per_step());
    const char* const unit = bench.task->columns().unit.many.c_str();
    const double products = products_alone_ms(*bench.graph, bench.threads, kRepeats) * micro_batches;
    const double rate_alone = samples / products * 1e3;
    std::printf(
        "convolutions and matrix products alone, by oneDNN's primitives: %.1f %s/s (%.1f ms); the whole step reaches "
        "%.2f of that rate, the fastest one %.2f\n",
        rate_alone, unit, products, products / (1e3 * step.typical), products / (1e3 * step.least));
    const double executed =
        total_ms(bench.executable->inspection().profile_alone(kRepeats), is_product) * micro_batches;
    std::printf("the same alone, as this program computes them: %.1f %s/s (%.1f ms); %.2f, the fastest one %.2f\n",
                samples / executed * 1e3, unit, executed, executed / (1e3 * step.typical),
                executed / (1e3 * step.least));
}

void compare_with_peak(Bench& bench, double typical) {
    const double flops = bench.executable->report().flops_per_micro_batch;
    const double gflops = flops * static_cast<double>(bench.plan.micro_batches) / typical / 1e9;
    const DType type = train::arithmetic(bench.parsed.settings.device, *bench.backend).type;
    const double peak = measured_peak_gflops(type, bench.threads);
    std::printf("%.0f GFLOP/s, %.2f of the measured peak of %.0f GFLOP/s (matrix product)\n", gflops, gflops / peak,
                peak);
}

void print_layout_changes(const Bench& bench, bool all) {
    const std::vector<std::string> reorders = bench.executable->inspection().reorders();
    std::printf("%zu layout changes are left:\n", reorders.size());
    const std::size_t shown = all ? reorders.size() : std::min<std::size_t>(4, reorders.size());
    for (std::size_t i = 0; i < shown; ++i)
        std::printf("  %s\n", reorders[i].c_str());
    if (shown < reorders.size()) std::printf("  ... (--table lists all)\n");
}

void run(const Options& options, const std::vector<std::string>& arguments) {
    Bench bench(options, arguments);
    print_head(bench, arguments);
    const StepTimes step = time_steps(bench, options);
    if (options.step_only) return;
    compare_with_products(bench, step);
    compare_with_peak(bench, step.typical);
    print_layout_changes(bench, options.table);
    if (!options.table) return;
    backend::Inspection& inspection = bench.executable->inspection();
    inspection.set_profiling(true);
    for (int i = 0; i < std::max(1, options.steps / 2); ++i)
        bench.step();
    std::printf("\n");
    print_by_op(inspection.profile());
    print_longest(inspection.profile(), options.rows);
}

}  // namespace

}  // namespace cnntrain

int main(int argc, char** argv) {
    cnntrain::limit_spinning(argv);
    cnntrain::Options options;
    CLI::App app{
        "Times whole steps of a run on made-up data. All other options are those of `cnntrain train`, or of `cnntrain "
        "pretrain` when that is the first word of them, for example:\n"
        "  bench_step --table --model efficientnet --model-size B0 --dataset imagenet --micro-batch-size 16\n"
        "  bench_step --table pretrain --config pretrain_base_128_phase1 --gradient-accumulation-count 1"};
    app.add_option("--steps", options.steps, "timed steps")->capture_default_str()->check(CLI::PositiveNumber);
    app.add_option("--seconds", options.seconds, "more timed steps, until they have taken so long");
    app.add_option("--warmup", options.warmup, "untimed steps first")->capture_default_str();
    app.add_option("--rows", options.rows, "rows of the table of longest steps")->capture_default_str();
    app.add_flag("--evaluate", options.evaluate, "time evaluation instead of training");
    app.add_flag("--step-only", options.step_only, "time whole steps and nothing else");
    app.add_flag("--table", options.table, "print times per operation and per step, and all layout changes");
    app.allow_extras();
    return cnntrain::run_tool(app, argc, argv, [&] {
        cnntrain::run(options, app.remaining());
        return 0;
    });
}
