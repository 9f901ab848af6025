// What `cnntrain plan` predicts of a pipelined training line against what the line takes. One process measures
// functions and runs weight updates in turn, round after round, so that both meet the same machine: other programs,
// clock rates.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/spinning.h"
#include "cnntrain/config/parse.h"
#include "cnntrain/tasks/tasks.h"
#include "cnntrain/train/backends.h"
#include "cnntrain/train/compile_request.h"
#include "cnntrain/train/loading.h"
#include "cnntrain/train/stages.h"
#include "plan/line.h"
#include "plan/line_network.h"
#include "plan/prediction.h"
#include "plan/profile.h"
#include "run_tool.h"
#include "train/runs/weights.h"

namespace cnntrain {
namespace {

/// `arguments`: of `cnntrain train`, or of the command that is their first word.
config::ParseResult parsed(std::vector<std::string> arguments, std::int64_t lanes) {
    config::Command command = config::Command::train;
    if (!arguments.empty() && !arguments.front().starts_with('-')) {
        command = config::command_named(arguments.front());
        arguments.erase(arguments.begin());
    }
    arguments.emplace_back(command == config::Command::train ? "--synthetic-data" : "--generated-data");
    arguments.insert(arguments.end(), {"--lanes", std::to_string(lanes)});
    config::ParseResult result = tasks::parse_command_line(command, arguments, config::process_environment());
    config::refuse_unavailable(result);
    train::check_stages(tasks::row_of(result), result.settings);
    return result;
}

/// A training line that is run update by update.
class Run {
public:
    Run(const config::ParseResult& line, const backend::Backend& backend)
        : task_(tasks::row_of(line).make(line, backend, 1)),
          samples_(task_->open(data::Split::train)),
          placement_(train::placement(line.settings, backend)),
          fields_(samples_->fields(placement_.samples)),
          graph_(task_->training_graph(fields_)),
          executable_(backend.compile(train::training_request(graph_, line.settings, fields_, 1))),
          source_(samples_->stream(train::training_loader_settings(line.settings, placement_, fields_, 0))) {
        train::initialise(*executable_, graph_, 1);
        update_ms();  // warms up
    }

    double update_ms() {
        const auto start = std::chrono::steady_clock::now();
        executable_->train_step(*source_, {kLearningRate, iteration_++});
        return 1e3 * seconds_since(start);
    }

private:
    static constexpr double kLearningRate = 1e-4;

    std::unique_ptr<train::Task> task_;
    std::unique_ptr<train::Samples> samples_;
    schedule::Placement placement_;
    std::vector<data::Field> fields_;
    graph::Graph graph_;
    std::unique_ptr<backend::Executable> executable_;
    std::unique_ptr<data::Stream> source_;
    std::int64_t iteration_ = 0;
};

struct Round {
    double predicted_ms = 0;
    double measured_ms = 0;
};

double quantile(std::vector<double> values, double share) {
    std::ranges::sort(values);
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

template <typename Number> std::vector<double> over(const std::vector<Round>& rounds, Number number) {
    std::vector<double> values;
    for (const Round& round : rounds)
        values.push_back(number(round));
    return values;
}

void print(const std::string& what, const std::vector<Round>& rounds) {
    const std::vector<double> ratios = over(rounds, [](const Round& r) { return r.predicted_ms / r.measured_ms; });
    std::printf(
        "%-24s predicted %.1f ms, measured %.1f ms (medians); predicted / measured %.3f (median of %zu rounds; middle "
        "half %.3f to %.3f, all %.3f to %.3f)\n",
        what.c_str(), quantile(over(rounds, [](const Round& r) { return r.predicted_ms; }), 0.5),
        quantile(over(rounds, [](const Round& r) { return r.measured_ms; }), 0.5), quantile(ratios, 0.5), ratios.size(),
        quantile(ratios, 0.25), quantile(ratios, 0.75), quantile(ratios, 0), quantile(ratios, 1));
}

std::string described(std::int32_t lanes, int threads) {
    return std::to_string(lanes) + (lanes == 1 ? " lane of " : " lanes of ") + std::to_string(threads) +
           (threads == 1 ? " thread" : " threads");
}

/// The line in its stages on one lane and on as many as can be.
class Comparison {
public:
    explicit Comparison(const std::vector<std::string>& arguments)
        : one_(parsed(arguments, 1)),
          line_(plan::line_of(tasks::row_of(one_), one_)),
          backend_(train::make_backend(one_.settings.run.backend)),
          of_line_(plan::network_of_line(tasks::row_of(one_), one_, *backend_)) {
        if (!line_.pipelined) throw Error(ErrorKind::usage, "the line has no pipeline");
        of_line_.network.lanes = 0;
        share_ = of_line_.network.share({line_.stages(), line_.schedule});
        all_threads_ = profiler({of_line_.network.threads, 1});
        on_one_lane_ = std::make_unique<Run>(one_, *backend_);
        if (share_.lanes == 1) return;
        each_lane_ = profiler({share_.threads, share_.lanes});
        on_lanes_ = std::make_unique<Run>(parsed(arguments, share_.lanes), *backend_);
    }

    void run(int rounds) {
        std::vector<Round> one_lane;
        std::vector<Round> lanes;
        for (int i = 0; i < rounds; ++i) {
            one_lane.push_back({0, measured(*all_threads_, of_line_.network.threads, *on_one_lane_, i)});
            if (share_.lanes > 1) lanes.push_back({0, measured(*each_lane_, share_.threads, *on_lanes_, i)});
            const plan::Prediction plan = prediction();
            one_lane.back().predicted_ms = plan.one_lane_ms;
            if (share_.lanes > 1) lanes.back().predicted_ms = plan.lanes_ms;
        }
        print(described(1, of_line_.network.threads), one_lane);
        if (share_.lanes > 1) print(described(share_.lanes, share_.threads), lanes);
    }

private:
    /// Functions and an update, in another order from round to round: what comes second finds its threads awake.
    double measured(plan::Profiler& profiler, int threads, Run& run, int round) {
        auto& times = of_line_.network.profile.times[threads];
        if (round % 2 == 0) times = profiler.update();
        const double ms = run.update_ms();
        if (round % 2 == 1) times = profiler.update();
        return ms;
    }

    std::unique_ptr<plan::Profiler> profiler(const plan::Measurement& how) const {
        return std::make_unique<plan::Profiler>(of_line_.graph, of_line_.names, *backend_, how);
    }

    plan::Prediction prediction() const {
        return plan::predict(of_line_.network, {line_.stages(), line_.schedule}, line_.micro_batches(),
                             of_line_.names.indices(line_.splits));
    }

    config::ParseResult one_;
    plan::PlannedLine line_;
    std::unique_ptr<backend::Backend> backend_;
    plan::NetworkOfLine of_line_;
    plan::LaneShare share_;
    std::unique_ptr<plan::Profiler> all_threads_;
    std::unique_ptr<plan::Profiler> each_lane_;
    std::unique_ptr<Run> on_one_lane_;
    std::unique_ptr<Run> on_lanes_;
};

}  // namespace
}  // namespace cnntrain

int main(int argc, char** argv) {
    cnntrain::limit_spinning(argv);
    int rounds = 9;
    CLI::App app{
        "Compares the times that `cnntrain plan` predicts with those of the line. All other options are those of "
        "`cnntrain "
        "train`, or of `cnntrain pretrain` when that is the first word of them, for example:\n"
        "  bench_plan --rounds 15 --dataset imagenet --model-size 50 --micro-batch-size 2 --pipeline\n"
        "             --pipeline-splits stage3/unit1/relu --gradient-accumulation-count 8"};
    app.add_option("--rounds", rounds, "measurements of the functions, each with an update of the line")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    app.allow_extras();
    return cnntrain::run_tool(app, argc, argv, [&] {
        cnntrain::Comparison(app.remaining()).run(rounds);
        return 0;
    });
}
