#include "cnntrain/insight/plan.h"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <span>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/processor.h"
#include "cnntrain/base/text.h"
#include "cnntrain/run/compile_request.h"
#include "insight/plan/line.h"
#include "insight/plan/prediction.h"
#include "insight/plan/processes.h"
#include "insight/plan/report.h"

namespace cnntrain::plan {
namespace {

using schedule::Pipeline;

class Plan {
public:
    Plan(const run::TaskRow& row, const options::ParseResult& arguments, const PlanSettings& settings,
         const run::Host& host)
        : arguments_(arguments),
          settings_(settings),
          host_(host),
          line_(line_of(row, arguments)),
          backend_(run::make_backend(arguments.settings.run.backend)),
          of_line_(network_of_line(row, arguments, *backend_)) {
        const std::unique_ptr<run::Task> task = row.make(arguments, *backend_, 0);
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
            return;
        }
        const Prediction of_line = predict(network_, pipeline(line_.stages()), line_.micro_batches(), own_splits());
        out << described(report, of_line, line_.micro_batches()) << '\n' << report.proposed(better, &of_line);
    }

    /// Predicts several processes. Each computes in one lane, whatever stages the command line has.
    void show_processes(const ProcessPlan& processes) {
        find_times({network_.threads});
        const std::int64_t bucket_bytes = arguments_.settings.comm.bucket_bytes;
        const FunctionTimes& times = network_.times.at(network_.threads);
        PlannedProcess process = planned_process(times, summed_values(of_line_.graph, names_), line_, bucket_bytes,
                                                 processes.samples_per_second);
        process.waits = waits_of(process.step, times, processes);
        const auto curves = predicted(process, processes);
        *host_.console << topic("Model", model_text(task_, network_, line_)) << topic("Times", times_from_)
                       << processes_text(process, processes, bucket_bytes, curves, unit_);
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

    /// True if `plan` is faster than `other`, or as fast and more balanced.
    static bool is_better(const Prediction& plan, const Prediction& other) {
        constexpr double kRounding = 1e-9;
        if (std::abs(plan.ms() - other.ms()) > kRounding * other.ms()) return plan.ms() < other.ms();
        return imbalance(plan.stages) < (1 - kRounding) * imbalance(other.stages);
    }

    ProfiledLine profiled_line() const {
        return {.title = "training, " + (task_.title.empty() ? task_.model : task_.title),
                .micro_batch = line_.micro_batch,
                .type = std::string(name(run::arithmetic(arguments_.settings.device, *backend_).type))};
    }

    void find_times(const std::vector<int>& threads) {
        if (settings_.profile) {
            const ProfiledTimes read =
                read_times(*host_.files, *settings_.profile, profiled_line(), names_, network_.facts);
            network_.times[read.threads] = read.times;
            times_from_ = "of lanes of " + counted(read.threads, "thread") + " from " + *settings_.profile +
                          ", measured on " + read.machine;
        }
        for (const int count : threads) {
            if (network_.times.contains(count)) continue;
            if (!times_from_.empty()) times_from_ += "; ";
            times_from_ += settings_.measure ? measure_times(count) : estimate_times(count);
        }
    }

    std::string estimate_times(int count) {
        network_.times[count] = times_of_flops(network_.facts, count);
        return "of lanes of " + counted(count, "thread") + " not measured: FLOPs at an assumed " +
               formatted("%.0f", kAssumedGflops) + " GFLOP/s of each thread; only their proportions mean something";
    }

    std::string measure_times(int count) {
        const auto rounding = arguments_.settings.device.stochastic_rounding;
        const Measurement how{count, network_.threads / count, settings_.steps,
                              rounding != backend::StochasticRounding::off, host_.stop_requested};
        network_.times[count] = measure(of_line_.graph, names_, *backend_, how);
        return "measured over " + counted(settings_.steps, "weight update") + " with " + counted(count, "thread") +
               (how.lanes > 1 ? " on each of " + std::to_string(how.lanes) + " lanes" : "");
    }

    const options::ParseResult& arguments_;
    const PlanSettings& settings_;
    const run::Host& host_;
    PlannedLine line_;
    std::unique_ptr<backend::Backend> backend_;
    run::TaskDescription task_;
    std::string unit_;  // samples in the plural
    NetworkOfLine of_line_;
    const FunctionNames& names_ = of_line_.names;
    PlannedNetwork& network_ = of_line_.network;
    std::string times_from_;
};

}  // namespace

void plan_training(const run::TaskRow& row, const options::ParseResult& line, const PlanSettings& settings,
                   const run::Host& host) {
    Plan(row, line, settings, host).run();
}

}  // namespace cnntrain::plan
