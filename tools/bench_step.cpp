// Times whole training (or evaluation) steps of a model on the CPU backend and says where the time goes:
// images/s with their spread, the rate that the convolutions alone reach in the same process, a table per operation,
// remaining reorders, memory, GFLOP/s against a measured peak.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/spinning.h"
#include "cnntrain/config/parse.h"
#include "cnntrain/data/image_fields.h"
#include "cnntrain/data/input.h"
#include "cnntrain/nn/initialise.h"
#include "cnntrain/train/assemble.h"
#include "convolutions.h"
#include "peak.h"

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

/// A training run on synthetic data as `cnntrain train` would understand it.
config::Settings run_settings(std::vector<std::string> arguments) {
    arguments.emplace_back("--synthetic-data");
    const config::ParseResult parsed =
        config::parse_command_line(config::Command::train, arguments, config::process_environment());
    config::refuse_unavailable(parsed);
    train::check_network(parsed.settings);
    return parsed.settings;
}

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

bool is_convolution(const backend::ProfileRow& row) {
    return row.op.starts_with("conv2d");
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

int run(const Options& options, const std::vector<std::string>& arguments) {
    const config::Settings settings = run_settings(arguments);
    const std::int64_t micro_batch =
        options.evaluate ? settings.training.micro_batch_size : train::batch_plan(settings).samples_per_pass();
    const schedule::UpdatePlan plan = options.evaluate ? schedule::UpdatePlan{} : train::update_plan(settings);
    const std::int64_t micro_batches = plan.micro_batches;

    const auto backend = train::make_backend(settings.run.backend);
    const data::InputData input(train::data_settings(settings, *backend, 1), data::Split::train);
    const std::vector<data::Field> fields = input.fields(micro_batch);
    const TensorDesc& images_desc = data::field_desc(fields, data::kImages);
    const graph::Graph graph = options.evaluate ? train::evaluation_graph(settings, *backend, images_desc)
                                                : train::training_graph(settings, *backend, images_desc);
    const backend::CompileRequest request = train::compile_request(graph, settings, fields, plan, 1);
    const int threads = request.devices.threads;
    const auto executable = backend->compile(request);
    for (const graph::ValueId id : graph.variables())
        executable->load(graph.value(id).name, nn::initial_value(graph.value(id), 1));
    const auto source = input.stream(options.evaluate ? train::loader_settings(settings, 0)
                                                      : train::training_loader_settings(settings, fields, 0));
    const backend::CompileReport& report = executable->report();
    std::printf("%s of", options.evaluate ? "evaluation" : "training");
    for (const std::string& argument : arguments)
        std::printf(" %s", argument.c_str());
    std::printf("; %d threads\n", threads);
    std::printf(
        "compiled in %.2f s; weights and copies %.0f MB, activations and gradients %.0f MB, %.1f GFLOP a micro-batch\n",
        report.seconds, static_cast<double>(report.parameter_bytes) / 1e6,
        static_cast<double>(report.arena_bytes) / 1e6, report.flops_per_micro_batch / 1e9);

    std::int64_t iteration = 0;
    const auto step = [&] {
        if (options.evaluate) return executable->evaluate(*source, micro_batches);
        return executable->train_step(*source, {0.01, iteration++});
    };
    for (int i = 0; i < options.warmup; ++i)
        step();
    std::vector<double> seconds;
    const double first = seconds_now();
    while (std::ssize(seconds) < options.steps || seconds_now() - first < options.seconds) {
        const double start = seconds_now();
        step();
        seconds.push_back(seconds_now() - start);
    }
    const double mean = std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
    const auto images = static_cast<double>(micro_batch * micro_batches);
    const double typical = median(seconds);
    const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
    std::printf("whole step: %.1f images/s (median of %td; %.1f to %.1f), %.1f ms a step, mean %.1f images/s\n",
                images / typical, std::ssize(seconds), images / *most, images / *least, 1e3 * typical, images / mean);

    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("peak memory of the process: %.2f GB\n", static_cast<double>(usage.ru_maxrss) / 1048576.0);
    if (options.step_only) return 0;

    const double convolutions = convolutions_alone_ms(graph, threads, 5) * static_cast<double>(micro_batches);
    const double rate_alone = images / convolutions * 1e3;
    std::printf(
        "convolutions alone, by oneDNN's convolution primitives: %.1f images/s (%.1f ms); the whole step reaches %.2f "
        "of that rate\n",
        rate_alone, convolutions, images / typical / rate_alone);
    const double executed =
        total_ms(executable->inspection().profile_alone(5), is_convolution) * static_cast<double>(micro_batches);
    std::printf("convolutions alone, as this program computes them: %.1f images/s (%.1f ms), %.2f\n",
                images / executed * 1e3, executed, executed / (1e3 * typical));
    const double gflops = report.flops_per_micro_batch * static_cast<double>(micro_batches) / typical / 1e9;
    const double peak = measured_peak_gflops(train::arithmetic(settings.device, *backend).type, threads);
    std::printf("%.0f GFLOP/s, %.2f of the measured peak of %.0f GFLOP/s (matrix product)\n", gflops, gflops / peak,
                peak);
    std::printf("%zu layout changes are left:\n", report.reorders.size());
    const std::size_t shown = options.table ? report.reorders.size() : std::min<std::size_t>(4, report.reorders.size());
    for (std::size_t i = 0; i < shown; ++i)
        std::printf("  %s\n", report.reorders[i].c_str());
    if (shown < report.reorders.size()) std::printf("  ... (--table lists all)\n");
    if (options.table) {
        executable->inspection().set_profiling(true);
        for (int i = 0; i < std::max(1, options.steps / 2); ++i)
            step();
        std::printf("\n");
        print_by_op(executable->inspection().profile());
        print_longest(executable->inspection().profile(), options.rows);
    }
    return 0;
}

}  // namespace

}  // namespace cnntrain

int main(int argc, char** argv) {
    cnntrain::limit_spinning(argv);
    cnntrain::Options options;
    CLI::App app{
        "Times whole steps of a run on synthetic data. All other options are those of `cnntrain train`, for example:\n"
        "  bench_step --table --model efficientnet --model-size B0 --dataset imagenet --micro-batch-size 16"};
    app.add_option("--steps", options.steps, "timed steps")->capture_default_str()->check(CLI::PositiveNumber);
    app.add_option("--seconds", options.seconds, "more timed steps, until they have taken so long");
    app.add_option("--warmup", options.warmup, "untimed steps first")->capture_default_str();
    app.add_option("--rows", options.rows, "rows of the table of longest steps")->capture_default_str();
    app.add_flag("--evaluate", options.evaluate, "time evaluation instead of training");
    app.add_flag("--step-only", options.step_only, "time whole steps and nothing else");
    app.add_flag("--table", options.table, "print times per operation and per step, and all layout changes");
    app.allow_extras();
    CLI11_PARSE(app, argc, argv);
    try {
        return cnntrain::run(options, app.remaining());
    } catch (const cnntrain::Error& error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return cnntrain::exit_code(error.kind());
    }
}
