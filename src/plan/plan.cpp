#include "cnntrain/plan/plan.h"

#include <algorithm>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/format.h"
#include "cnntrain/base/listed.h"
#include "cnntrain/base/processor.h"
#include "cnntrain/plan/pipeline_chart.h"
#include "cnntrain/plan/scaling_chart.h"
#include "cnntrain/train/backends.h"
#include "plan/line.h"
#include "plan/line_network.h"
#include "plan/prediction.h"
#include "plan/processes.h"
#include "plan/report.h"
#include "plan/text.h"

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
          line_(line_of(arguments)),
          backend_(train::make_backend(arguments.settings.run.backend)),
          task_(row.make(arguments, *backend_, 0)->description()),
          of_line_(network_of_line(row, arguments, *backend_)) {}

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
        find_times({network_.threads, network_.share(line_.stages()).threads, network_.share(proposed).threads});
        const Prediction better = best(proposed);
        std::ostream& out = *host_.console;
        out << topic("Model", model_text(task_, network_, line_)) << topic("Times", times_from_) << '\n';
        const PlanReport report(names_, network_, line_, of_line_.without_copies);
        if (!line_.pipelined) {
            const std::int64_t micro_batches = line_.legal_micro_batches(better.pipeline);
            out << report.proposed(better, nullptr) << '\n' << described(report, better, micro_batches);
            draw(better, micro_batches);
            return;
        }
        const Prediction of_line =
            predict(network_, {line_.stages(), line_.schedule}, line_.micro_batches(), indices(line_.splits));
        out << described(report, of_line, line_.micro_batches()) << '\n' << report.proposed(better, &of_line);
        draw(of_line, line_.micro_batches());
    }

    /// The processes compute as one lane each, whatever stages the line has.
    void show_processes(const ProcessPlan& processes) {
        find_times({network_.threads});
        const std::int64_t bucket_bytes = arguments_.settings.comm.bucket_bytes;
        const PlannedProcess process =
            planned_process(network_.profile.times.at(network_.threads), summed_values(of_line_.graph, names_), line_,
                            bucket_bytes, processes.images_per_second);
        const auto curves = predicted(process, processes);
        *host_.console << topic("Model", model_text(task_, network_, line_)) << topic("Times", times_from_)
                       << processes_text(process, processes, bucket_bytes, curves);
        if (!settings_.svg) return;
        const double single = 1e3 * process.step.images / process.step.total_ms();
        const std::string title = task_.title + formatted(": predicted from %.4g images/s of one process, ", single) +
                                  counted(processes.ranks_per_node, "rank") + " a node";
        write_chart(scaling_svg(curves, single, title, "Network: " + processes.network_from));
    }

    std::string described(const PlanReport& report, const Prediction& plan, std::int64_t micro_batches) const {
        constexpr int kUsualWidth = 120;
        const int width = host_.terminal_width > 0 ? host_.terminal_width : kUsualWidth;
        return report.described(plan, micro_batches, settings_.memory_limit_bytes, static_cast<std::size_t>(width));
    }

    void check_stage_count(std::int32_t stages) const {
        if (std::cmp_less_equal(stages, names_.count())) return;
        throw Error(ErrorKind::usage, "--stages " + std::to_string(stages) + ": the network has " +
                                          std::to_string(names_.count()) + " functions, and a stage has at least one");
    }

    std::vector<std::size_t> indices(const std::vector<std::string>& splits) const {
        std::vector<std::size_t> result;
        result.reserve(splits.size());
        for (const std::string& split : splits) {
            const auto found = std::ranges::find(names_.names(), split);
            result.push_back(static_cast<std::size_t>(found - names_.names().begin()));
        }
        return result;
    }

    Prediction best(std::int32_t stages) const {
        const Pipeline pipeline{stages, line_.schedule};
        const LaneShare share = network_.share(stages);
        const auto workers = share.lanes > 1 ? schedule::Workers::several : schedule::Workers::one;
        return predict(network_, pipeline, line_.legal_micro_batches(pipeline),
                       best_splits(pipeline, network_.costs(share.threads), workers, settings_.memory_limit_bytes));
    }

    /// The settings on which the work of a function depends.
    std::map<std::string, std::string> made_for() const {
        const config::Settings& settings = arguments_.settings;
        std::map<std::string, std::string> result = task_.identity;
        result["micro-batch"] = std::to_string(line_.micro_batch);
        result["precision"] = config::name(settings.device.precision);
        result["arithmetic"] = name(train::arithmetic(settings.device, *backend_).type);
        result.insert(task_.work.begin(), task_.work.end());
        result["backend"] = backend_->name();
        result["threads"] =
            std::to_string(network_.threads);  // of all lanes: those that work beside a lane slow it down
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
        const bool saved = settings_.profile && host_.files->exists(*settings_.profile);
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
        host_.files->write_text(*settings_.svg, svg);
        *host_.console << '\n' << topic("Chart", *settings_.svg);
    }

    const config::ParseResult& arguments_;
    const PlanSettings& settings_;
    const train::Host& host_;
    PlannedLine line_;
    std::unique_ptr<backend::Backend> backend_;
    train::TaskDescription task_;
    NetworkOfLine of_line_;
    const FunctionNames& names_ = of_line_.names;
    PlannedNetwork& network_ = of_line_.network;
    std::string times_from_;
};

}  // namespace

void plan_training(const train::TaskRow& row, const config::ParseResult& line, const PlanSettings& settings,
                   const train::Host& host) {
    Plan(row, line, settings, host).run();
}

}  // namespace cnntrain::plan
