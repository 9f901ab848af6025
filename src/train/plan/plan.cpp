#include "cnntrain/train/plan.h"

#include <algorithm>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/format.h"
#include "cnntrain/base/processor.h"
#include "cnntrain/base/size_text.h"
#include "cnntrain/data/image_fields.h"
#include "cnntrain/data/input.h"
#include "cnntrain/schedule/pipeline_chart.h"
#include "cnntrain/train/assemble.h"
#include "train/plan/prediction.h"
#include "train/tasks/image_classification.h"

namespace cnntrain::train {

namespace {

using schedule::Pipeline;
using schedule::PipelineSchedule;
using schedule::StageCost;

/// What the line says about its pipeline.
struct Line {
    bool pipelined = false;
    std::vector<std::string> splits;
    PipelineSchedule schedule = PipelineSchedule::grouped;
    std::int64_t micro_batch = 1;
    std::int64_t accumulation = 1;   // of a replica
    std::int64_t micro_batches = 1;  // of all replicas of the process

    std::int32_t stages() const { return static_cast<std::int32_t>(splits.size()) + 1; }
};

Line line_of(const config::ParseResult& arguments) {
    const TrainingSettings& training = arguments.settings.training;
    const schedule::BatchPlan batch = batch_plan(arguments.settings);
    Line line;
    line.pipelined = training.pipeline;
    if (training.pipeline) line.splits = training.pipeline_splits;
    line.schedule = training.pipeline_schedule;
    line.micro_batch = batch.samples_per_pass();
    line.accumulation = batch.accumulation;
    line.micro_batches = batch.local_passes();
    return line;
}

/// The images of a micro-batch; no data are looked for.
TensorDesc image_desc(const config::Settings& settings, const backend::Backend& backend) {
    config::Settings generated = settings;
    generated.data.kind = data::DataKind::generated;
    const data::InputData input(data_settings(generated, backend, 0), data::Split::train);
    return data::field_desc(input.fields(batch_plan(settings).samples_per_pass()), data::kImages);
}

/// The whole weight update in one piece: what is measured depends neither on the splits nor on what stages keep.
graph::Graph unsplit_graph(config::Settings settings, const backend::Backend& backend) {
    settings.training.pipeline = false;
    settings.training.pipeline_splits.clear();
    settings.training.shards = 1;
    settings.training.recomputation = false;
    return training_graph(settings, backend, image_desc(settings, backend));
}

/// Text in columns as wide as they must be; the first `left` columns begin at the left, the others end at the right.
std::string in_columns(const std::vector<std::vector<std::string>>& rows, std::size_t left) {
    std::vector<std::size_t> widths(rows.front().size());
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string padding(widths[i] - row[i].size(), ' ');
            line += (i == 0 ? "" : "  ") + (i < left ? row[i] + padding : padding + row[i]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

std::string counted(std::int64_t count, const std::string& what, const std::string& ending = "s") {
    return std::to_string(count) + " " + what + (count == 1 ? "" : ending);
}

std::string percent(double share) {
    return formatted("%.1f %%", 100 * share);
}

class Plan {
public:
    Plan(const config::ParseResult& arguments, const PlanSettings& settings, const Host& host)
        : arguments_(arguments),
          settings_(settings),
          host_(host),
          line_(line_of(arguments)),
          backend_(make_backend(arguments.settings.run.backend)),
          names_(nn::split_points(network_settings(arguments.settings))),
          graph_(unsplit_graph(arguments.settings, *backend_)) {
        network_.threads = compute_threads(arguments.settings.run);
        network_.facts = function_facts(graph_, names_);
        if (arguments.settings.training.recomputation) network_.kept = schedule::Kept::inputs;
    }

    void run() {
        const std::int32_t proposed = settings_.stages.value_or(line_.pipelined ? line_.stages() : 2);
        check_stage_count(proposed);
        find_times({network_.threads, share_of(line_.stages(), network_.threads).threads,
                    share_of(proposed, network_.threads).threads});
        const Prediction better = best(proposed);
        topic("Model", model());
        topic("Times", times_from_);
        if (line_.pipelined) {
            const Prediction of_line =
                predict(network_, {line_.stages(), line_.schedule}, line_.micro_batches, indices(line_.splits));
            describe(of_line, line_.micro_batches);
            propose(better, &of_line);
            draw(of_line);
            return;
        }
        propose(better, nullptr);
        describe(better, legal_micro_batches(better.pipeline));
        draw(better);
    }

private:
    std::ostream& out() { return *host_.console; }

    void topic(const std::string& name, const std::string& text) {
        constexpr std::size_t kColumn = 15;
        const std::string shown = name.empty() ? "" : name + ":";
        out() << shown << std::string(kColumn - std::min(kColumn, shown.size()), ' ') << text << '\n';
    }

    void check_stage_count(std::int32_t stages) const {
        if (std::cmp_less_equal(stages, names_.count())) return;
        throw Error(ErrorKind::usage, "--stages " + std::to_string(stages) + ": the network has " +
                                          std::to_string(names_.count()) + " functions, and a stage has at least one");
    }

    std::vector<std::size_t> indices(const std::vector<std::string>& splits) const {
        std::vector<std::size_t> result;
        for (const std::string& split : splits)
            result.push_back(
                static_cast<std::size_t>(std::ranges::find(names_.names(), split) - names_.names().begin()));
        return result;
    }

    /// A replica's number of micro-batches that the schedule can take, the line's or the next above it; of all replicas.
    std::int64_t legal_micro_batches(const Pipeline& pipeline) const {
        const std::int64_t unit = schedule::micro_batch_unit(pipeline);
        return (line_.accumulation + unit - 1) / unit * unit * (line_.micro_batches / line_.accumulation);
    }

    Prediction best(std::int32_t stages) const {
        const Pipeline pipeline{stages, line_.schedule};
        const auto costs = network_.costs(share_of(stages, network_.threads).threads);
        return predict(network_, pipeline, legal_micro_batches(pipeline),
                       schedule::best_splits(pipeline, costs, network_.kept, settings_.memory_limit_bytes));
    }

    // ---- times ----

    /// What changes the work of a function, besides the function itself.
    std::map<std::string, std::string> made_for() const {
        const config::Settings& settings = arguments_.settings;
        std::map<std::string, std::string> result =
            ImageClassification(arguments_, *backend_, 0).description().identity;
        result["micro-batch"] = std::to_string(line_.micro_batch);
        result["precision"] = config::name(settings.device.precision);
        result["arithmetic"] = name(arithmetic(settings.device, *backend_).type);
        result["norm"] = settings.model.norm == nn::NormKind::batch ? "batch" : "group";
        result["backend"] = backend_->name();
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
            const Measurement how{count, settings_.steps, rounding != backend::StochasticRounding::off,
                                  host_.stop_requested};
            network_.profile.times[count] = train::measure(graph_, names_, *backend_, how);
            counts += (counts.empty() ? "" : ", then with ") + counted(count, "thread");
        }
        times_from_ = "measured over " + counted(settings_.steps, "weight update") + " with " + counts;
        if (!settings_.profile) return;
        write_profile(*host_.files, *settings_.profile, network_.profile);
        times_from_ += "; kept in " + *settings_.profile;
    }

    // ---- text ----

    std::string model() const {
        const nn::ModelSettings& model = arguments_.settings.model;
        double gflop = 0;
        for (const FunctionFacts& function : network_.facts)
            gflop += function.forward_gflop;
        return std::string(nn::name(model.family)) + " " + model.size + ", " +
               (model.norm == nn::NormKind::batch ? "batch norm" : "group norm of " + std::to_string(model.groups)) +
               ", " + std::to_string(nn::parameter_count(graph_)) + " parameters, micro-batch " +
               std::to_string(line_.micro_batch) + " with " + formatted("%.4g", gflop) + " GFLOP forward";
    }

    void describe(const Prediction& plan, std::int64_t micro_batches) {
        out() << '\n';
        topic("Stages", std::to_string(plan.pipeline.stages) + ", " + std::string(schedule::name(line_.schedule)) +
                            ", " + counted(micro_batches, "micro-batch", "es") + " per weight update, passes with " +
                            counted(plan.share.threads, "thread"));
        objections(plan, micro_batches);
        out() << '\n' << stage_table(plan) << '\n';
        topic("Memory", memory_terms());
        const schedule::StageTimes each = mean_stage(plan);
        topic("Bubble", percent(schedule::bubble(plan.pipeline, micro_batches, each)) +
                            " if all stages took the same and waited for each other after every tick" + formula());
        const std::vector<schedule::StageTimes> times = times_of(plan);
        topic("Balance", balance(plan) + "; with a device for each stage and a barrier after every tick " +
                             formatted("%.4g ms", schedule::barrier_time_ms(plan.pipeline, micro_batches, times)) +
                             " per weight update");
        speed(plan, micro_batches);
        out() << '\n' << schedule::chart_text(plan.pipeline, micro_batches, chart_width());
    }

    void objections(const Prediction& plan, std::int64_t micro_batches) {
        if (line_.pipelined) {
            try {
                schedule::check_micro_batches(plan.pipeline, line_.accumulation);
            } catch (const Error& error) {
                topic("Not legal", error.what());
            }
        } else if (micro_batches != line_.micro_batches) {
            topic("Note", "the schedule needs a multiple of " +
                              std::to_string(schedule::micro_batch_unit(plan.pipeline)) +
                              " micro-batches, the line has " + std::to_string(line_.accumulation));
        }
        if (!settings_.memory_limit_bytes) return;
        for (std::size_t i = 0; i < plan.stages.size(); ++i) {
            if (plan.stages[i].memory_bytes() <= *settings_.memory_limit_bytes) continue;
            topic("Too large", "stage " + std::to_string(i) + " needs " + size_text(plan.stages[i].memory_bytes()) +
                                   ", the limit is " + size_text(*settings_.memory_limit_bytes));
        }
    }

    std::string stage_table(const Prediction& plan) const {
        double whole = 0;
        for (const StageCost& stage : plan.stages)
            whole += stage.times.total();
        std::vector<std::vector<std::string>> rows = {{"stage", "first function", "functions", "parameters", "GFLOP",
                                                       "forward ms", "backward ms", "share", "weights", "gradients",
                                                       "kept", "memory"}};
        for (std::size_t i = 0; i < plan.stages.size(); ++i)
            rows.push_back(stage_row(i, plan.stages[i], whole));
        return in_columns(rows, 2);
    }

    std::vector<std::string> stage_row(std::size_t number, const StageCost& stage, double whole_ms) const {
        FunctionFacts sum;
        for (std::size_t i = stage.first; i < stage.end; ++i) {
            sum.parameters += network_.facts[i].parameters;
            sum.forward_gflop += network_.facts[i].forward_gflop;
            sum.variable_bytes += network_.facts[i].variable_bytes;
            sum.gradient_bytes += network_.facts[i].gradient_bytes;
        }
        return {std::to_string(number),
                names_.names()[stage.first],
                std::to_string(stage.end - stage.first),
                std::to_string(sum.parameters),
                formatted("%.3g", sum.forward_gflop),
                formatted("%.2f", stage.times.forward_ms),
                formatted("%.2f", stage.times.backward_ms),
                percent(whole_ms > 0 ? stage.times.total() / whole_ms : 0),
                size_text(sum.variable_bytes),
                size_text(sum.gradient_bytes),
                size_text(stage.stash_bytes) + " x " + std::to_string(stage.stash_depth),
                size_text(stage.memory_bytes())};
    }

    std::string memory_terms() const {
        const bool again = network_.kept == schedule::Kept::inputs;
        return std::string(
                   "weights with optimiser slots and moving averages, their gradients, and for each micro-batch in "
                   "flight ") +
               (again ? "the inputs of the stage, which computes its results again (the last stage keeps its results)"
                      : "the results of the forward pass that are kept") +
               "; what a pass needs for itself comes on top";
    }

    static schedule::StageTimes mean_stage(const Prediction& plan) {
        schedule::StageTimes mean;
        for (const StageCost& stage : plan.stages) {
            mean.forward_ms += stage.times.forward_ms / plan.pipeline.stages;
            mean.backward_ms += stage.times.backward_ms / plan.pipeline.stages;
        }
        return mean;
    }

    static std::vector<schedule::StageTimes> times_of(const Prediction& plan) {
        std::vector<schedule::StageTimes> times;
        for (const StageCost& stage : plan.stages)
            times.push_back(stage.times);
        return times;
    }

    std::string formula() const {
        switch (line_.schedule) {
            case PipelineSchedule::grouped:
                return ": (K-1)/(N+K-1)";
            case PipelineSchedule::interleaved:
                return ": 1 - N(f+b)/(K(f+b) + (2N-2) max(f,b))";
            case PipelineSchedule::sequential:
                return ": (K-1)/K";
        }
        return "";
    }

    static std::string balance(const Prediction& plan) {
        return "the longest stage takes " + formatted("%.2f", schedule::imbalance(plan.stages)) + " times the mean";
    }

    std::string rate(double ms, std::int64_t micro_batches) const {
        const double images = static_cast<double>(line_.micro_batch) * static_cast<double>(micro_batches);
        return formatted("%.5g ms per weight update, %.4g images/s", ms, ms > 0 ? 1e3 * images / ms : 0);
    }

    void speed(const Prediction& plan, std::int64_t micro_batches) {
        topic("One lane", rate(plan.one_lane_ms, micro_batches) + " with " + counted(network_.threads, "thread"));
        if (plan.share.lanes == 1) return;
        topic(counted(plan.share.lanes, "lane"), rate(plan.lanes_ms, micro_batches) + " with " +
                                                     counted(plan.share.threads, "thread") + " each: " + lanes(plan) +
                                                     "; a lane is taken to be as fast as its threads are alone");
    }

    /// "stages 0, 3 work 98.1 % of the time; stages 1, 2 work 97.0 %"
    static std::string lanes(const Prediction& plan) {
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

    std::size_t chart_width() const {
        constexpr int kUsual = 120;
        return static_cast<std::size_t>(host_.terminal_width > 0 ? host_.terminal_width : kUsual);
    }

    /// `of_line`: null for a line without a pipeline.
    void propose(const Prediction& better, const Prediction* of_line) {
        out() << '\n';
        if (of_line != nullptr && of_line->splits == better.splits) {
            topic("Best splits", "those of the line");
            return;
        }
        const std::int64_t micro_batches = legal_micro_batches(better.pipeline);
        topic("Best splits", arguments_for(better));
        std::uint64_t most = 0;
        for (const StageCost& stage : better.stages)
            most = std::max(most, stage.memory_bytes());
        topic("", balance(better) +
                      (of_line != nullptr
                           ? ", with the line's splits " + formatted("%.2f", schedule::imbalance(of_line->stages))
                           : "") +
                      "; the stage that needs most memory needs " + size_text(most));
        if (better.share.lanes > 1) {
            topic("", rate(better.lanes_ms, micro_batches) + " with " + counted(better.share.lanes, "lane") + " of " +
                          counted(better.share.threads, "thread"));
        }
    }

    /// What to type, as far as it differs from the line.
    std::string arguments_for(const Prediction& plan) const {
        std::string text = "--pipeline-splits";
        for (const std::size_t split : plan.splits)
            text += " " + names_.names()[split];
        if (!line_.pipelined)
            text = "--pipeline --pipeline-schedule " + std::string(schedule::name(line_.schedule)) + " " + text;
        const std::int64_t shards = arguments_.settings.training.shards;
        if (shards > 1 && shards != plan.pipeline.stages) text += " --shards " + std::to_string(plan.pipeline.stages);
        const std::int64_t accumulation =
            legal_micro_batches(plan.pipeline) / (line_.micro_batches / line_.accumulation);
        if (accumulation != line_.accumulation)
            text += " --gradient-accumulation-count " + std::to_string(accumulation);
        return text;
    }

    void draw(const Prediction& plan) {
        if (!settings_.svg) return;
        constexpr std::int64_t kMostDrawn = 512;
        const std::int64_t micro_batches = line_.pipelined ? line_.micro_batches : legal_micro_batches(plan.pipeline);
        const std::int64_t drawn = std::min(kMostDrawn, micro_batches);
        const auto work = schedule::timeline(plan.pipeline, drawn, times_of(plan), plan.lane_of);
        std::string title = std::string(nn::name(arguments_.settings.model.family)) + " " +
                            arguments_.settings.model.size + ": " + std::string(schedule::name(line_.schedule)) + ", " +
                            counted(plan.pipeline.stages, "stage") + " on " + counted(plan.share.lanes, "lane") +
                            " of " + counted(plan.share.threads, "thread") + ", predicted; " +
                            (drawn < micro_batches ? "as if " + std::to_string(drawn) + " were all of the " : "") +
                            std::to_string(micro_batches) + " micro-batches";
        host_.files->write_text(*settings_.svg, schedule::chart_svg(work, title));
        out() << '\n';
        topic("Chart", *settings_.svg);
    }

    const config::ParseResult& arguments_;
    const PlanSettings& settings_;
    const Host& host_;
    Line line_;
    std::unique_ptr<backend::Backend> backend_;
    FunctionNames names_;
    graph::Graph graph_;
    PlannedNetwork network_;
    std::string times_from_;
};

}  // namespace

void plan_training(const config::ParseResult& line, const PlanSettings& settings, const Host& host) {
    Plan(line, settings, host).run();
}

}  // namespace cnntrain::train
