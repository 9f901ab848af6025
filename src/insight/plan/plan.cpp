#include "cnntrain/insight/plan.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <ostream>
#include <span>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/processor.h"
#include "cnntrain/base/text.h"
#include "cnntrain/run/compile_request.h"
#include "insight/plan/line.h"
#include "insight/plan/processes.h"
#include "insight/plan/report.h"
#include "insight/plan/times.h"

namespace cnntrain::plan {

using schedule::PipelineSchedule;

namespace {

std::string label(const schedule::StageWork& work) {
    return (work.backward ? "B" : "F") + std::to_string(work.micro_batch);
}

/// One column of the table; all cells have the same width.
struct Column {
    std::vector<std::string> cells;  // heading, then one cell per stage; "" is idle
    std::size_t width = 0;
};

Column column_of(const schedule::Pipeline& pipeline, std::int64_t micro_batches, std::int64_t tick) {
    Column column;
    column.cells.resize(static_cast<std::size_t>(pipeline.stages) + 1);
    column.cells[0] = std::to_string(tick);
    for (const schedule::StageWork& work : work_at(pipeline, micro_batches, tick))
        column.cells[static_cast<std::size_t>(work.stage) + 1] += label(work);
    for (const std::string& cell : column.cells)
        column.width = std::max(column.width, cell.size());
    return column;
}

constexpr std::string_view kCut = "...";

/// The columns that fit: from the start, and from the end.
struct Columns {
    std::deque<Column> first;
    std::deque<Column> last;
    bool all = false;
};

Columns columns_within(const schedule::Pipeline& pipeline, std::int64_t micro_batches, std::size_t room) {
    const std::int64_t ticks = schedule::tick_count(pipeline, micro_batches);
    Columns columns;
    std::size_t taken = 0;
    for (std::int64_t i = 0; i < ticks; ++i) {
        const bool from_begin = i % 2 == 0;
        Column next = column_of(pipeline, micro_batches, from_begin ? i / 2 : ticks - 1 - i / 2);
        taken += 1 + next.width;
        const std::size_t cut = i + 1 < ticks ? 1 + kCut.size() : 0;  // room for the mark of omitted ticks
        if (taken + cut > room && i >= 2) return columns;
        from_begin ? columns.first.push_back(std::move(next)) : columns.last.push_front(std::move(next));
    }
    columns.all = true;
    return columns;
}

/// Pads to `width` columns; an idle stage gets a dot in the middle.
std::string padded_cell(const std::string& cell, std::size_t width) {
    const std::size_t length = cell.empty() ? 1 : cell.size();
    return (cell.empty() ? "·" : cell) + std::string(width - length, ' ');
}

std::string row_name(std::size_t row) {
    return row == 0 ? "tick" : "stage " + std::to_string(row - 1);
}

}  // namespace

std::string chart_text(const schedule::Pipeline& pipeline, std::int64_t micro_batches, std::size_t width) {
    const auto rows = static_cast<std::size_t>(pipeline.stages) + 1;
    const std::size_t name_width = row_name(rows - 1).size() + 1;
    const Columns columns = columns_within(pipeline, micro_batches, width > name_width ? width - name_width : 0);
    std::string text;
    for (std::size_t row = 0; row < rows; ++row) {
        std::string line = padded_cell(row_name(row), name_width);
        for (const Column& column : columns.first)
            line += " " + padded_cell(column.cells[row], column.width);
        if (!columns.all) line += " " + std::string(kCut);
        for (const Column& column : columns.last)
            line += " " + padded_cell(column.cells[row], column.width);
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

std::string topic(const std::string& name, const std::string& text) {
    constexpr std::size_t kColumn = 15;
    return padded(name.empty() ? "" : name + ":", kColumn, 0) + text + "\n";
}

std::string percent(double share) {
    return formatted("%.1f %%", 100 * share);
}

namespace {

schedule::StageTimes mean_stage(const Prediction& plan) {
    schedule::StageTimes mean;
    for (const StageCost& stage : plan.stages) {
        mean.forward_ms += stage.times.forward_ms / plan.pipeline.stages;
        mean.backward_ms += stage.times.backward_ms / plan.pipeline.stages;
    }
    return mean;
}

std::string balance(const Prediction& plan) {
    return "the longest stage takes " + formatted("%.2f", imbalance(plan.stages)) + " times the mean";
}

/// Describes the work of the lanes: "stages 0, 3 work 98.1 % of the time; stages 1, 2 work 97.0 %".
std::string lanes_text(const Prediction& plan) {
    std::string text;
    for (std::int32_t lane = 0; lane < plan.share.lanes; ++lane) {
        std::string stages;
        for (std::size_t stage = 0; stage < plan.lane_of.size(); ++stage) {
            if (plan.lane_of[stage] == lane) stages += (stages.empty() ? "" : ", ") + std::to_string(stage);
        }
        const bool one = stages.find(',') == std::string::npos;
        text += (lane == 0 ? "" : "; ") + std::string(one ? "stage " : "stages ") + stages +
                (one ? " works " : " work ") + percent(plan.busy[static_cast<std::size_t>(lane)]) +
                (lane == 0 ? " of the time" : "");
    }
    return text;
}

std::string model_text(const run::TaskDescription& task, const PlannedNetwork& network, const PlannedLine& line) {
    FunctionFacts sum;
    for (const FunctionFacts& function : network.facts) {
        sum.parameters += function.parameters;
        sum.forward_gflop += function.forward_gflop;
    }
    return task.title + ", " + task.details + ", " + std::to_string(sum.parameters) + " parameters, micro-batch " +
           std::to_string(line.micro_batch) + " with " + formatted("%.4g", sum.forward_gflop) + " GFLOP forward";
}

class PlanReport {
public:
    /// `unit`: samples in the plural. `without_copies`: why copies of weights are not counted; empty: they are.
    PlanReport(const FunctionNames& names, const PlannedNetwork& network, const PlannedLine& line, std::string unit,
               std::string without_copies)
        : names_(names),
          network_(network),
          line_(line),
          unit_(std::move(unit)),
          without_copies_(std::move(without_copies)) {}

    /// Stages, memory, bubble, balance, speed and chart. Lists the stages that need more than `limit_bytes`.
    std::string described(const Prediction& plan, std::int64_t micro_batches, std::optional<std::uint64_t> limit_bytes,
                          std::size_t width) const {
        std::string text =
            topic("Stages", std::to_string(plan.pipeline.stages) + ", " + std::string(spelling(line_.schedule)) + ", " +
                                counted(micro_batches, "micro-batch", "es") + " per weight update, passes with " +
                                counted(plan.share.threads, "thread"));
        text += objections(plan, micro_batches, limit_bytes);
        text += "\n" + stage_table(plan) + "\n";
        text += topic("Memory", memory_terms());
        text += topic("Bubble",
                      percent(schedule::bubble(plan.pipeline, micro_batches, mean_stage(plan))) +
                          " if all stages took the same and waited for each other after every tick: " + formula());
        const double barrier_ms = barrier_time_ms(plan.pipeline, micro_batches, plan.times());
        text += topic("Balance", balance(plan) + "; with a device for each stage and a barrier after every tick " +
                                     formatted("%.4g ms", barrier_ms) + " per weight update");
        text += speed(plan, micro_batches);
        return text + "\n" + chart_text(plan.pipeline, micro_batches, width);
    }

    /// The proposed splits as options. `of_line`: the command line's own plan; null if it has no pipeline.
    std::string proposed(const Prediction& better, const Prediction* of_line) const {
        if (of_line != nullptr && of_line->splits == better.splits) return topic("Best splits", "those of the line");
        std::uint64_t most = 0;
        for (const StageCost& stage : better.stages)
            most = std::max(most, stage.memory_bytes());
        std::string than_line;
        if (of_line != nullptr) than_line = ", with the line's splits " + formatted("%.2f", imbalance(of_line->stages));
        std::string text =
            topic("Best splits", arguments_for(better)) +
            topic("", balance(better) + than_line + "; the stage that needs most memory needs " + size_text(most));
        std::string figure = rate(better.ms(), line_.legal_micro_batches(better.pipeline)) + " with " +
                             counted(better.share.lanes, "lane") + " of " + counted(better.share.threads, "thread");
        if (of_line != nullptr) figure += ", with the line's splits " + rate(of_line->ms(), line_.micro_batches());
        return text + topic("", figure);
    }

private:
    std::string objections(const Prediction& plan, std::int64_t micro_batches,
                           std::optional<std::uint64_t> limit_bytes) const {
        std::string text;
        if (line_.pipelined) {
            try {
                schedule::check_micro_batches(plan.pipeline, line_.accumulation);
            } catch (const Error& error) {
                text += topic("Not legal", error.what());
            }
        } else if (micro_batches != line_.micro_batches()) {
            text += topic("Note", "the schedule needs a multiple of " +
                                      std::to_string(line_.micro_batch_unit(plan.pipeline)) +
                                      " micro-batches, the line has " + std::to_string(line_.accumulation));
        }
        for (std::size_t i = 0; limit_bytes && i < plan.stages.size(); ++i) {
            const std::uint64_t needed = plan.stages[i].memory_bytes();
            if (needed <= *limit_bytes) continue;
            text += topic("Too large", "stage " + std::to_string(i) + " needs " + size_text(needed) +
                                           ", the limit is " + size_text(*limit_bytes));
        }
        return text;
    }

    std::string stage_table(const Prediction& plan) const {
        double whole_ms = 0;
        for (const StageCost& stage : plan.stages)
            whole_ms += stage.times.total();
        TextRows rows = {{"stage", "first function", "functions", "parameters", "GFLOP", "forward ms", "backward ms",
                          "share", "weights", "copies", "gradients", "kept", "sent on", "memory"}};
        for (std::size_t i = 0; i < plan.stages.size(); ++i)
            rows.push_back(stage_row(i, plan.stages[i], whole_ms));
        return in_columns(rows, 2);
    }

    std::vector<std::string> stage_row(std::size_t number, const StageCost& stage, double whole_ms) const {
        FunctionFacts sum;
        for (std::size_t i = stage.first; i < stage.end; ++i) {
            sum.parameters += network_.facts[i].parameters;
            sum.forward_gflop += network_.facts[i].forward_gflop;
            sum.variable_bytes += network_.facts[i].variable_bytes;
            sum.gradient_bytes += network_.facts[i].gradient_bytes;
            sum.copy_bytes += network_.facts[i].copy_bytes;
        }
        return {std::to_string(number),
                stage.first < stage.end ? names_.names()[stage.first] : "(" + unit_ + " only)",
                std::to_string(stage.end - stage.first),
                std::to_string(sum.parameters),
                formatted("%.3g", sum.forward_gflop),
                formatted("%.2f", stage.times.forward_ms),
                formatted("%.2f", stage.times.backward_ms),
                percent(whole_ms > 0 ? stage.times.total() / whole_ms : 0),
                size_text(sum.variable_bytes),
                size_text(sum.copy_bytes),
                size_text(sum.gradient_bytes),
                size_text(stage.stash_bytes) + " x " + std::to_string(stage.stash_depth),
                size_text(stage.handed_on_bytes),
                size_text(stage.memory_bytes())};
    }

    std::string memory_terms() const {
        const bool again = network_.kept == Kept::inputs;
        std::string text =
            "weights with optimiser slots and moving averages, their copies in the layouts of operations, sums of "
            "gradients, and for each micro-batch in flight ";
        text += again ? "stage inputs, from which results are recomputed (the last stage keeps its results)"
                      : "results that are kept for the backward pass and results that are sent to other stages";
        text += "; temporary memory is not included";
        if (!without_copies_.empty()) text += "; copies of weights are not known: " + without_copies_;
        return text;
    }

    std::string formula() const {
        constexpr const char* kFormulas[] = {"(K-1)/(N+K-1)", "1 - N(f+b)/(K(f+b) + (2N-2) max(f,b))", "(K-1)/K"};
        return entry_of(kFormulas, line_.schedule);
    }

    std::string rate(double ms, std::int64_t micro_batches) const {
        const double samples = static_cast<double>(line_.micro_batch) * static_cast<double>(micro_batches);
        return formatted("%.5g ms per weight update, %.4g ", ms, ms > 0 ? 1e3 * samples / ms : 0) + unit_ + "/s";
    }

    std::string speed(const Prediction& plan, std::int64_t micro_batches) const {
        std::string text =
            topic("One lane", rate(plan.one_lane_ms, micro_batches) + " with " + counted(network_.threads, "thread"));
        if (plan.share.lanes == 1) return text;
        const std::string slower = plan.lanes_ms > plan.one_lane_ms ? "; --lanes 1 is faster" : "";
        return text + topic(counted(plan.share.lanes, "lane"), rate(plan.lanes_ms, micro_batches) + " with " +
                                                                   counted(plan.share.threads, "thread") +
                                                                   " each: " + lanes_text(plan) + slower);
    }

    /// The options for this plan, as far as they differ from the command line.
    std::string arguments_for(const Prediction& plan) const {
        std::vector<std::string> splits;
        for (const std::size_t split : plan.splits)
            splits.push_back(names_.names()[split]);
        std::string text = line_.written_stages(splits);
        if (line_.shards > 1 && line_.shards != plan.pipeline.stages)
            text += " --shards " + std::to_string(plan.pipeline.stages);
        const std::int64_t accumulation = line_.legal_accumulation(plan.pipeline);
        if (accumulation != line_.accumulation)
            text += " --gradient-accumulation-count " + std::to_string(accumulation);
        return text;
    }

    const FunctionNames& names_;
    const PlannedNetwork& network_;
    const PlannedLine& line_;
    std::string unit_;
    std::string without_copies_;
};

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
