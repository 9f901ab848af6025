#include "cnntrain/plan/plan.h"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <span>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/outputs.h"
#include "cnntrain/base/processor.h"
#include "cnntrain/base/text.h"
#include "cnntrain/plan/pipeline_chart.h"
#include "cnntrain/train/backends.h"
#include "plan/drawing.h"
#include "plan/line.h"
#include "plan/prediction.h"
#include "plan/processes.h"
#include "plan/report.h"

namespace cnntrain::plan {
namespace {

using schedule::Pipeline;

class Plan {
public:
    Plan(const train::TaskRow& row, const config::ParseResult& arguments, const PlanSettings& settings,
         const train::Host& host)
        : arguments_(arguments),
          settings_(settings),
          host_(host),
          line_(line_of(row, arguments)),
          backend_(train::make_backend(arguments.settings.run.backend)),
          of_line_(network_of_line(row, arguments, *backend_)) {
        const std::unique_ptr<train::Task> task = row.make(arguments, *backend_, 0);
        task_ = task->description();
        unit_ = task->columns().unit.many;
    }

    void run() {
        if (settings_.processes) {
            show_processes(*settings_.processes);
        } else {
            show_stages();
        }
    }

private:
    void show_stages() {
        const std::int32_t proposed = settings_.stages.value_or(line_.pipelined ? line_.stages() : 2);
        check_stage_count(proposed);
        find_times({network_.threads, network_.share(pipeline(line_.stages())).threads,
                    network_.share(pipeline(proposed)).threads});
        const Prediction better = best(proposed);
        std::ostream& out = *host_.console;
        out << topic("Model", model_text(task_, network_, line_)) << topic("Times", times_from_) << '\n';
        const PlanReport report(names_, network_, line_, unit_, of_line_.without_copies);
        if (!line_.pipelined) {
            const std::int64_t micro_batches = line_.legal_micro_batches(better.pipeline);
            out << report.proposed(better, nullptr) << '\n' << described(report, better, micro_batches);
            draw(better, micro_batches);
            return;
        }
        const Prediction of_line = predict(network_, pipeline(line_.stages()), line_.micro_batches(), own_splits());
        out << described(report, of_line, line_.micro_batches()) << '\n' << report.proposed(better, &of_line);
        draw(of_line, line_.micro_batches());
    }

    /// Predicts several processes. Each computes in one lane, whatever stages the command line has.
    void show_processes(const ProcessPlan& processes) {
        find_times({network_.threads});
        const std::int64_t bucket_bytes = arguments_.settings.comm.bucket_bytes;
        const FunctionTimes& times = network_.profile.times.at(network_.threads);
        PlannedProcess process = planned_process(times, summed_values(of_line_.graph, names_), line_, bucket_bytes,
                                                 processes.samples_per_second);
        process.waits = waits_of(process.step, times, processes);
        const auto curves = predicted(process, processes);
        *host_.console << topic("Model", model_text(task_, network_, line_)) << topic("Times", times_from_)
                       << processes_text(process, processes, bucket_bytes, curves, unit_);
        if (!settings_.svg) return;
        const double single = 1e3 * process.step.samples / process.step.total_ms();
        const std::string title = task_.title + formatted(": predicted from %.4g ", single) + unit_ +
                                  "/s of one process, " + counted(processes.ranks_per_node, "rank") + " a node";
        write_chart(scaling_svg(curves, single, unit_, title, "Network: " + processes.network_from));
    }

    std::string described(const PlanReport& report, const Prediction& plan, std::int64_t micro_batches) const {
        constexpr int kUsualWidth = 120;
        const int width = columns_of(host_.terminal, kUsualWidth);
        return report.described(plan, micro_batches, settings_.memory_limit_bytes, static_cast<std::size_t>(width));
    }

    void check_stage_count(std::int32_t stages) const {
        if (std::cmp_less_equal(stages, names_.count())) return;
        throw Error(ErrorKind::usage, "--stages " + std::to_string(stages) + ": the network has " +
                                          std::to_string(names_.count()) + " functions, and a stage has at least one");
    }

    Pipeline pipeline(std::int32_t stages) const { return {stages, line_.schedule}; }

    /// Balanced splits, unless a run with the line's own is faster: they may leave less to recompute, or fill the lanes
    /// better.
    Prediction best(std::int32_t stages) const {
        Prediction balanced = this->balanced(stages);
        if (!line_.pipelined || stages != line_.stages()) return balanced;
        const Prediction own =
            predict(network_, balanced.pipeline, line_.legal_micro_batches(balanced.pipeline), own_splits());
        return fits(own) && !is_better(balanced, own) ? own : balanced;
    }

    Prediction balanced(std::int32_t stages) const {
        const LaneShare share = network_.share(pipeline(stages));
        const auto workers = share.lanes > 1 ? schedule::Workers::several : schedule::Workers::one;
        return predict(
            network_, pipeline(stages), line_.legal_micro_batches(pipeline(stages)),
            best_splits(pipeline(stages), network_.costs(share.threads), workers, settings_.memory_limit_bytes));
    }

    std::vector<std::size_t> own_splits() const { return names_.indices(line_.splits); }

    bool fits(const Prediction& plan) const {
        return !settings_.memory_limit_bytes || std::ranges::all_of(plan.stages, [&](const StageCost& stage) {
            return stage.memory_bytes() <= *settings_.memory_limit_bytes;
        });
    }

    /// Whether it is faster than the other one, or as fast and more balanced.
    static bool is_better(const Prediction& plan, const Prediction& other) {
        constexpr double kRounding = 1e-9;
        if (std::abs(plan.ms() - other.ms()) > kRounding * other.ms()) return plan.ms() < other.ms();
        return imbalance(plan.stages) < (1 - kRounding) * imbalance(other.stages);
    }

    /// The settings that affect the cost of functions.
    std::map<std::string, std::string> made_for() const {
        const config::Settings& settings = arguments_.settings;
        std::map<std::string, std::string> result = task_.identity;
        result["micro-batch"] = std::to_string(line_.micro_batch);
        result["precision"] = config::name(settings.device.precision);
        result["arithmetic"] = name(train::arithmetic(settings.device, *backend_).type);
        result.insert(task_.work.begin(), task_.work.end());
        result["backend"] = backend_->name();
        result["threads"] = std::to_string(network_.threads);  // of all lanes: parallel lanes slow each other down
        return result;
    }

    Profile empty_profile() const {
        Profile profile;
        profile.made_for = made_for();
        profile.functions = names_.names();
        for (const FunctionFacts& function : network_.facts)
            profile.forward_gflop.push_back(function.forward_gflop);
        profile.machine = this_processor().name + ", " + backend_->library();
        return profile;
    }

    void find_times(const std::vector<int>& threads) {
        const Profile wanted = empty_profile();
        const bool saved = settings_.profile && exists(*host_.files, *settings_.profile);
        network_.profile = saved ? read_profile(*host_.files, *settings_.profile) : wanted;
        if (saved) check_profile(network_.profile, wanted, *settings_.profile);
        auto& times = network_.profile.times;
        const bool complete = std::ranges::all_of(threads, [&](int count) { return times.contains(count); });
        if (complete) {
            times_from_ = "from " + *settings_.profile + ", measured on " + network_.profile.machine;
            return;
        }
        if (settings_.measure) {
            if (network_.profile.machine != wanted.machine) times.clear();
            network_.profile.machine = wanted.machine;
            measure_times(threads);
            return;
        }
        for (const int count : threads)
            times[count] = times_of_flops(network_.facts, count);
        times_from_ = "not measured: FLOPs at an assumed " + formatted("%.0f", kAssumedGflops) +
                      " GFLOP/s of each thread; only their proportions mean something";
    }

    void measure_times(const std::vector<int>& threads) {
        const auto rounding = arguments_.settings.device.stochastic_rounding;
        std::string counts;
        for (const int count : threads) {
            if (network_.profile.times.contains(count)) continue;
            const Measurement how{count, network_.threads / count, settings_.steps,
                                  rounding != backend::StochasticRounding::off, host_.stop_requested};
            network_.profile.times[count] = measure(of_line_.graph, names_, *backend_, how);
            counts += (counts.empty() ? "" : ", then with ") + counted(count, "thread") +
                      (how.lanes > 1 ? " on each of " + std::to_string(how.lanes) + " lanes" : "");
        }
        times_from_ = "measured over " + counted(settings_.steps, "weight update") + " with " + counts;
        if (!settings_.profile) return;
        write_profile(*host_.files, *settings_.profile, network_.profile);
        times_from_ += "; kept in " + *settings_.profile;
    }

    void draw(const Prediction& plan, std::int64_t micro_batches) {
        if (!settings_.svg) return;
        constexpr std::int64_t kMostDrawn = 512;
        const std::int64_t drawn = std::min(kMostDrawn, micro_batches);
        const auto work = timeline(plan.pipeline, drawn, plan.times(), plan.lane_of);
        const std::string title =
            task_.title + ": " + std::string(schedule::name(line_.schedule)) + ", " +
            counted(plan.pipeline.stages, "stage") + " on " + counted(plan.share.lanes, "lane") + " of " +
            counted(plan.share.threads, "thread") + ", predicted; " +
            (drawn < micro_batches ? "as if " + std::to_string(drawn) + " were all of the " : "") +
            counted(micro_batches, "micro-batch", "es");
        write_chart(chart_svg(work, title));
    }

    void write_chart(const std::string& svg) {
        write_text(*host_.files, *settings_.svg, svg);
        *host_.console << '\n' << topic("Chart", *settings_.svg);
    }

    const config::ParseResult& arguments_;
    const PlanSettings& settings_;
    const train::Host& host_;
    PlannedLine line_;
    std::unique_ptr<backend::Backend> backend_;
    train::TaskDescription task_;
    std::string unit_;  // samples in the plural
    NetworkOfLine of_line_;
    const FunctionNames& names_ = of_line_.names;
    PlannedNetwork& network_ = of_line_.network;
    std::string times_from_;
};

bool is_chart(const FileSystem& files, const std::string& path) {
    constexpr std::size_t kHead = 512;
    const std::unique_ptr<InputFile> file = files.open(path);
    std::string head(std::min<std::size_t>(kHead, file->size_bytes()), '\0');
    file->read_at(0, std::as_writable_bytes(std::span(head)));
    return head.starts_with("<svg") && head.find(kChartMark) != std::string::npos;
}

/// The profile is only extended after it was read as one.
std::vector<Output> outputs_of(const PlanSettings& settings) {
    std::vector<Output> outputs;
    if (settings.svg) outputs.push_back({{"--svg", *settings.svg}, false, "", is_chart});
    if (settings.profile) outputs.push_back({{"--profile", *settings.profile}, true});
    return outputs;
}

}  // namespace

void plan_training(const train::TaskRow& row, const config::ParseResult& line, const PlanSettings& settings,
                   const train::Host& host) {
    check_outputs(*host.files, outputs_of(settings));
    Plan(row, line, settings, host).run();
}

}  // namespace cnntrain::plan
