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

#include "cnntrain/backend/cpu.h"
#include "cnntrain/base/cores.h"
#include "cnntrain/base/error.h"
#include "cnntrain/data/input.h"
#include "cnntrain/graph/autodiff.h"
#include "cnntrain/graph/passes.h"
#include "cnntrain/nn/initialise.h"
#include "cnntrain/nn/model.h"
#include "cnntrain/ops/op_table.h"
#include "cnntrain/optim/optimiser.h"
#include "convolutions.h"
#include "peak.h"

namespace cnntrain {

namespace {

struct Options {
    std::string size = "50";
    std::string dataset = "imagenet";
    std::string precision = "16.32";
    std::string norm = "batch";
    std::int64_t micro_batch = 32;
    std::int64_t micro_batches = 1;
    int steps = 10;
    int warmup = 2;
    int threads = 0;
    int rows = 25;
    bool evaluate = false;
    bool recompute = false;
    bool table = false;
};

nn::BuildRequest request_of(const Options& options, const data::DataSettings& input) {
    nn::BuildRequest request;
    request.model.size = options.size;
    request.model.norm = options.norm == "group" ? nn::NormKind::group : nn::NormKind::batch;
    if (options.dataset != "imagenet") {
        request.model.dataset = nn::DatasetKind::cifar;
        request.model.classes = 10;
        request.model.image_size = 32;
        request.model.groups = 16;
    }
    request.numerics.compute = options.precision == "32.32" ? DType::f32 : DType::bf16;
    request.numerics.parameters = options.precision == "16.16" ? DType::bf16 : DType::f32;
    request.input.images = data::InputData(input, data::Split::train).image_desc(options.micro_batch);
    if (const auto normalisation = data::device_normalisation(input)) {
        request.input.normalise = nn::DeviceNormalisation{{normalisation->scale.begin(), normalisation->scale.end()},
                                                          {normalisation->shift.begin(), normalisation->shift.end()}};
    }
    return request;
}

graph::Graph training_graph(const nn::BuildRequest& request, const Options& options) {
    graph::Graph graph =
        graph::run_passes(nn::build_training(request, ops::op_table()).graph, graph::training_passes());
    const nn::ModelValues values = nn::model_values(graph);
    const double loss_scaling = 128;
    graph::Objective objective{
        values.loss, loss_scaling / static_cast<double>(options.micro_batch), values.parameters, {}};
    if (options.recompute) objective.recompute_points = graph::choose_recompute_points(graph, objective);
    const graph::Gradients gradients = graph::build_backward(graph, objective);
    std::vector<optim::MovingAverage> averages;
    for (const nn::BatchNormRecord& norm : values.batch_norms) {
        averages.push_back({norm.moving_mean, norm.batch_mean, 1});
        averages.push_back({norm.moving_variance, norm.batch_variance, norm.count});
    }
    optim::OptimiserSettings optimiser;
    optimiser.kind = config::Optimiser::momentum;
    optimiser.weight_decay = 1e-4;
    optimiser.loss_scaling = loss_scaling;
    optimiser.micro_batches = options.micro_batches;
    optim::append_update(graph, gradients, optimiser, averages);
    return graph::run_passes(std::move(graph), graph::backward_passes());
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

int run(const Options& options) {
    const int threads = options.threads > 0 ? options.threads : available_cores();
    data::DataSettings input;
    input.dataset = data::dataset_info(options.dataset).id;
    input.kind = data::DataKind::synthetic;
    input.compute_dtype = options.precision == "32.32" ? DType::f32 : DType::bf16;
    const nn::BuildRequest request = request_of(options, input);
    const graph::Graph graph =
        options.evaluate
            ? graph::run_passes(nn::build_evaluation(request, ops::op_table()).graph, graph::evaluation_passes())
            : training_graph(request, options);
    const auto executable = backend::make_cpu_backend()->compile({&graph, options.micro_batches, {.threads = threads}});
    for (const graph::Role role : {graph::Role::parameter, graph::Role::state}) {
        for (const graph::ValueId id : graph.values_with_role(role)) {
            executable->load(graph.value(id).name, nn::initial_value(graph.value(id), 1));
        }
    }
    const auto source = data::InputData(input, data::Split::train)
                            .stream({.feed = data::Feed::training, .micro_batch = options.micro_batch, .seed = 1});
    const backend::CompileReport& report = executable->report();
    std::printf("ResNet-%s %s, micro-batch %ld x %ld, %s norm, precision %s, %d threads, %s\n", options.size.c_str(),
                options.dataset.c_str(), options.micro_batch, options.micro_batches, options.norm.c_str(),
                options.precision.c_str(), threads, options.evaluate ? "evaluation" : "training");
    std::printf(
        "compiled in %.2f s; weights and copies %.0f MB, activations and gradients %.0f MB, %.1f GFLOP a micro-batch\n",
        report.seconds, static_cast<double>(report.parameter_bytes) / 1e6,
        static_cast<double>(report.arena_bytes) / 1e6, report.flops_per_micro_batch / 1e9);

    std::int64_t iteration = 0;
    const auto step = [&] {
        if (options.evaluate) return executable->evaluate(*source, options.micro_batches);
        return executable->train_step(*source, {0.01, iteration++});
    };
    for (int i = 0; i < options.warmup; ++i)
        step();
    std::vector<double> seconds;
    for (int i = 0; i < options.steps; ++i) {
        const double start = seconds_now();
        step();
        seconds.push_back(seconds_now() - start);
    }
    const auto images = static_cast<double>(options.micro_batch * options.micro_batches);
    const double typical = median(seconds);
    const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
    std::printf("whole step: %.1f images/s (median of %d; %.1f to %.1f), %.1f ms a step\n", images / typical,
                options.steps, images / *most, images / *least, 1e3 * typical);

    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("peak memory of the process: %.2f GB\n", static_cast<double>(usage.ru_maxrss) / 1048576.0);
    const double convolutions = convolutions_alone_ms(graph, threads, 5) * static_cast<double>(options.micro_batches);
    const double rate_alone = images / convolutions * 1e3;
    std::printf(
        "convolutions alone, by oneDNN's convolution primitives: %.1f images/s (%.1f ms); the whole step reaches %.2f "
        "of that rate\n",
        rate_alone, convolutions, images / typical / rate_alone);
    const double executed =
        total_ms(executable->profile_alone(5), is_convolution) * static_cast<double>(options.micro_batches);
    std::printf("convolutions alone, as this program computes them: %.1f images/s (%.1f ms), %.2f\n",
                images / executed * 1e3, executed, executed / (1e3 * typical));
    const double gflops = report.flops_per_micro_batch * static_cast<double>(options.micro_batches) / typical / 1e9;
    const double peak = measured_peak_gflops(options.precision == "32.32" ? DType::f32 : DType::bf16, threads);
    std::printf("%.0f GFLOP/s, %.2f of the measured peak of %.0f GFLOP/s (matrix product)\n", gflops, gflops / peak,
                peak);
    std::printf("%zu layout changes are left:\n", report.reorders.size());
    const std::size_t shown = options.table ? report.reorders.size() : std::min<std::size_t>(4, report.reorders.size());
    for (std::size_t i = 0; i < shown; ++i)
        std::printf("  %s\n", report.reorders[i].c_str());
    if (shown < report.reorders.size()) std::printf("  ... (--table lists all)\n");
    if (options.table) {
        executable->set_profiling(true);
        for (int i = 0; i < std::max(1, options.steps / 2); ++i)
            step();
        std::printf("\n");
        print_by_op(executable->profile());
        print_longest(executable->profile(), options.rows);
    }
    return 0;
}

}  // namespace

}  // namespace cnntrain

int main(int argc, char** argv) {
    cnntrain::Options options;
    CLI::App app{"Times training or evaluation steps of a ResNet on the CPU backend, on synthetic data."};
    app.add_option("--model-size", options.size, "ResNet size")->capture_default_str();
    app.add_option("--dataset", options.dataset, "imagenet, cifar-10 or cifar-100")->capture_default_str();
    app.add_option("--precision", options.precision, "16.16, 16.32 or 32.32")->capture_default_str();
    app.add_option("--norm", options.norm, "batch or group")->capture_default_str();
    app.add_option("--micro-batch-size", options.micro_batch, "samples")->capture_default_str();
    app.add_option("--gradient-accumulation-count", options.micro_batches, "micro-batches")->capture_default_str();
    app.add_option("--steps", options.steps, "timed steps")->capture_default_str()->check(CLI::PositiveNumber);
    app.add_option("--warmup", options.warmup, "untimed steps first")->capture_default_str();
    app.add_option("--threads", options.threads, "compute threads, 0: all cores")->capture_default_str();
    app.add_option("--rows", options.rows, "rows of the table of longest steps")->capture_default_str();
    app.add_flag("--evaluate", options.evaluate, "time evaluation instead of training");
    app.add_flag("--recompute", options.recompute, "keep few activations and compute the others again");
    app.add_flag("--table", options.table, "print times per operation and per step, and all layout changes");
    CLI11_PARSE(app, argc, argv);
    try {
        return cnntrain::run(options);
    } catch (const cnntrain::Error& error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return cnntrain::exit_code(error.kind());
    }
}
