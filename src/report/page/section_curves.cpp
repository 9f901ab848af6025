// Curves, histograms, the pipeline.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "cnntrain/base/text.h"
#include "cnntrain/schedule/pipeline.h"
#include "report/draw/charts.h"
#include "report/page/sections.h"

namespace cnntrain::report {

namespace {

constexpr int kAverageColour = 5;

std::string axis_of(const std::vector<RunRecord>& runs) {
    const bool epochs = std::ranges::all_of(
        runs, [](const RunRecord& run) { return run.training.has("epoch") || run.validation.has("epoch"); });
    return epochs ? "epoch" : "iteration";
}

/// "", or "run: " where there are several.
std::string name_of(const RunRecord& run, const std::vector<RunRecord>& runs) {
    return runs.size() == 1 ? "" : brief(run.name, 40) + ": ";
}

std::vector<Measure> measures_of_all(const std::vector<RunRecord>& runs) {
    std::vector<Measure> measures;
    for (const RunRecord& run : runs) {
        for (const Measure& measure : measures_of(run)) {
            const bool there = std::ranges::find(measures, measure.title, &Measure::title) != measures.end();
            if (!there) measures.push_back(measure);
        }
    }
    return measures;
}

void draw_measure(Html& page, const std::vector<RunRecord>& runs, const Measure& measure) {
    std::vector<Line> lines;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const RunRecord& run = runs[i];
        const bool single = runs.size() == 1;
        const int colour = static_cast<int>(i);
        const std::string name = name_of(run, runs);
        lines.push_back({name + "training", training_curve(run, measure), single ? 1 : colour, true, false, true});
        lines.push_back({name + "validation", validation_curve(run, measure), colour, false, true, false});
        if (!single) continue;
        lines.push_back({"validation of the average", validation_curve(run, measure, Validated::average),
                         kAverageColour, false, true, false});
    }
    draw_lines(page, {std::string(measure.title), std::string(measure.unit), axis_of(runs)}, lines);
}

void draw_column(Html& page, const std::vector<RunRecord>& runs, const std::string& title, const std::string& column,
                 const std::string& unit, bool noisy) {
    std::vector<Line> lines;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const std::string name = runs.size() == 1 ? title : brief(runs[i].name, 40);
        lines.push_back({name, training_column(runs[i], column), static_cast<int>(i), false, false, noisy});
    }
    draw_lines(page, {title, unit, axis_of(runs)}, lines);
}

std::vector<double> finite_column(const Table& table, std::string_view column, double scale) {
    std::vector<double> values;
    for (std::size_t row = 0; row < table.rows(); ++row) {
        const double value = table.number(row, column);
        if (std::isfinite(value)) values.push_back(scale * value);
    }
    return values;
}

schedule::PipelineSchedule schedule_of(const std::string& name) {
    for (const auto schedule : {schedule::PipelineSchedule::grouped, schedule::PipelineSchedule::interleaved}) {
        if (schedule::name(schedule) == name) return schedule;
    }
    return schedule::PipelineSchedule::sequential;
}

std::int64_t whole(const std::string& text) {
    return std::atoll(text.c_str());
}

std::string weights_text(const WeightGroup& group) {
    double sum = 0;
    double squares = 0;
    for (const double value : group.values) {
        sum += value;
        squares += value * value;
    }
    const auto count = static_cast<double>(std::max<std::size_t>(1, group.values.size()));
    const double mean = sum / count;
    const double deviation = std::sqrt(std::max(0.0, squares / count - mean * mean));
    std::string text = formatted("mean %.2g, deviation %.2g; ", mean, deviation) + std::to_string(group.elements) +
                       " values in " + counted(group.tensors, "tensor");
    if (group.not_finite > 0) text += "; some are not finite";
    return text;
}

}  // namespace

void add_curves(Html& page, const std::vector<RunRecord>& runs) {
    const bool any = std::ranges::any_of(
        runs, [](const RunRecord& run) { return run.training.rows() > 0 || run.validation.rows() > 0; });
    if (!any) return;
    page.leaf("h2", "Curves");
    page.open("p", {{"class", "smooth"}, {"hidden", "hidden"}});
    page.leaf("label", "Smoothing of the training: ", {{"for", "smooth"}});
    page.empty("input",
               {{"id", "smooth"}, {"type", "range"}, {"min", "0"}, {"max", "0.98"}, {"step", "0.02"}, {"value", "0"}});
    page.close().open("div", {{"class", "grid"}});
    for (const Measure& measure : measures_of_all(runs))
        draw_measure(page, runs, measure);
    draw_column(page, runs, "Learning rate", "lr", "", false);
    const std::string rate = rate_column(runs.front());
    draw_column(page, runs, "Throughput", rate, " per second", true);
    page.close();
}

void add_histograms(Html& page, const RunRecord& run) {
    HistogramSeries right{"classified correctly", {}, 2};
    HistogramSeries wrong{"wrong", {}, 1};
    HistogramSeries own{"all", {}, 0};
    if (run.predictions) {
        for (const Sample& sample : run.predictions->rows) {
            if (sample.classes.empty()) continue;
            (sample.is_wrong() ? wrong : right).values.push_back(sample.probabilities.front());
            own.values.push_back(sample.own);
        }
    }
    const std::vector<double> times = finite_column(run.training, "it_time", 1e3);
    if (own.values.empty() && times.size() < 2) return;
    page.leaf("h2", "Histograms").open("div", {{"class", "grid"}});
    draw_histogram(page, "Probability of the predicted class", "probability", {right, wrong});
    draw_histogram(page, "Probability of the true class", "probability", {own});
    if (times.size() > 1)
        draw_histogram(page, "Duration of a weight update, by log line", "milliseconds", {{"log lines", times, 3}});
    page.close();
}

void add_weights(Html& page, const RunRecord& run) {
    if (run.weights.empty() || !run.checkpoint) return;
    page.leaf("h2", "Weights");
    page.leaf("p", "Matrices and kernels of " + run.checkpoint->name + ", by layers. The vertical line marks 0.",
              {{"class", "soft"}});
    page.open("div", {{"class", "grid small"}});
    for (const WeightGroup& group : run.weights)
        draw_small_histogram(page, brief(group.name, 60), weights_text(group), group.values);
    page.close();
}

void add_pipeline(Html& page, const RunRecord& run) {
    if (run.log.stage_count < 2) return;
    const schedule::Pipeline pipeline{static_cast<std::int32_t>(run.log.stage_count),
                                      schedule_of(run.argument("pipeline_schedule"))};
    std::int64_t micro_batches = whole(run.argument("gradient_accumulation_count"));
    if (micro_batches < 1) micro_batches = std::int64_t{2} * pipeline.stages;
    page.leaf("h2", "Pipeline");
    const double bubble = schedule::bubble(pipeline, micro_batches, {1, 2});
    page.leaf("p", formatted("%d stages, %lld micro-batches for each weight update. With equal stages, each waits "
                             "%.0f %% of the time.",
                             pipeline.stages, static_cast<long long>(micro_batches), 100 * bubble));
    draw_pipeline(page, pipeline, micro_batches);
    page.leaf("h3", "Memory of the stages").leaf("pre", brief(run.log.stages, 4000));
}

}  // namespace cnntrain::report
