// Curves, histograms, the pipeline.
#include "insight/report/page/sections.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "cnntrain/base/text.h"
#include "cnntrain/parallel/pipeline.h"
#include "insight/report/draw/charts.h"
#include "insight/report/percent.h"

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
        if (spelling(schedule) == name) return schedule;
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

// Confusions, the most wrong samples, masked words.

namespace {

constexpr std::size_t kMostInMatrix = 20;
constexpr std::size_t kMostInTable = 200;
constexpr std::size_t kTinyPicture = 3000;  // base 64: about 32 x 32 pixels

std::string brief_name(const Confusion& confusion, std::int64_t label) {
    const auto place = static_cast<std::size_t>(label);
    return brief(place < confusion.names.size() ? confusion.names[place] : std::to_string(label), 60);
}

/// All classes, or those that take part in the most confusions.
std::vector<std::int64_t> classes_of_matrix(const Confusion& confusion) {
    std::vector<std::int64_t> wrong(confusion.classes.size());
    for (const ConfusedPair& pair : confusion.pairs) {
        wrong[static_cast<std::size_t>(pair.label)] += pair.count;
        wrong[static_cast<std::size_t>(pair.taken_for)] += pair.count;
    }
    std::vector<std::int64_t> labels;
    for (const ClassResult& one : confusion.classes)
        labels.push_back(one.label);
    if (labels.size() <= kMostInMatrix) return labels;
    std::ranges::stable_sort(labels, std::greater<>(),
                             [&](std::int64_t label) { return wrong[static_cast<std::size_t>(label)]; });
    labels.resize(kMostInMatrix);
    std::ranges::sort(labels);
    return labels;
}

void add_matrix(Html& page, const Confusion& confusion) {
    if (confusion.pairs.empty() && confusion.worst.empty()) return;
    const std::vector<std::int64_t> labels = classes_of_matrix(confusion);
    page.leaf("h3", "Confusion matrix");
    page.leaf("p",
              "Rows: true class. Columns: predicted class. Numbers of samples; the stronger the colour, the larger "
              "the share of the true class." +
                  std::string(labels.size() < confusion.classes.size()
                                  ? formatted(" The %zu of %zu classes that are confused most often.", labels.size(),
                                              confusion.classes.size())
                                  : ""),
              {{"class", "soft"}});
    page.open("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", "confusion matrix"}});
    page.open("table", {{"class", "matrix"}}).open("thead").open("tr").open("td").close();
    for (const std::int64_t label : labels)
        page.leaf("th", brief_name(confusion, label), {{"scope", "col"}});
    page.close().close().open("tbody");
    for (const std::int64_t label : labels) {
        page.open("tr").leaf("th", brief_name(confusion, label), {{"scope", "row"}});
        const auto samples = static_cast<double>(confusion.classes[static_cast<std::size_t>(label)].samples);
        for (const std::int64_t taken_for : labels) {
            const std::int64_t count = confusion.count(label, taken_for);
            const double share = samples > 0 ? static_cast<double>(count) / samples : 0;
            page.leaf("td", count > 0 ? std::to_string(count) : "",
                      {{"style", formatted("--v:%.2f", share)}, {"class", label == taken_for ? "right" : ""}});
        }
        page.close();
    }
    page.close().close().close();
}

std::string percent_text(double share) {
    return std::isnan(share) ? "-" : formatted("%.1f %%", kPercent * share);
}

void add_class_table(Html& page, const Confusion& confusion) {
    std::vector<ClassResult> classes = confusion.classes;
    std::erase_if(classes, [](const ClassResult& one) { return one.samples == 0 && one.predicted == 0; });
    if (classes.empty()) return;
    std::ranges::stable_sort(classes, {},
                             [](const ClassResult& one) { return std::isnan(one.recall()) ? 2 : one.recall(); });
    const std::size_t shown = std::min(classes.size(), kMostInTable);
    page.leaf("h3", "Classes, the weakest first" +
                        (shown < classes.size() ? formatted(" (%zu of %zu)", shown, classes.size()) : ""));
    page.open("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", "classes"}});
    page.open("table").open("thead").open("tr").leaf("th", "class", {{"scope", "col"}});
    for (const char* const head : {"samples", "recall", "predicted", "precision", "F1"})
        page.leaf("th", head, {{"scope", "col"}, {"class", "number"}});
    page.close().close().open("tbody");
    for (std::size_t i = 0; i < shown; ++i) {
        const ClassResult& one = classes[i];
        page.open("tr").leaf("th", brief_name(confusion, one.label), {{"scope", "row"}});
        for (const std::string& text :
             {std::to_string(one.samples), percent_text(one.recall()), std::to_string(one.predicted),
              percent_text(one.precision()), percent_text(one.f1())})
            page.leaf("td", text, {{"class", "number"}});
        page.close();
    }
    page.close().close().close();
}

std::string judged(const Confusion& confusion, const Sample& sample) {
    return brief_name(confusion, sample.label) + " (" + probability_text(sample.own) + "), taken for " +
           brief_name(confusion, sample.classes.front()) + " (" + probability_text(sample.probabilities.front()) + ")";
}

void add_photos(Html& page, const Confusion& confusion, const std::vector<const Sample*>& samples) {
    page.leaf("p", "As the network sees them, with brightness stretched. In brackets: probabilities.",
              {{"class", "soft"}});
    page.open("div", {{"class", "photos"}});
    for (const Sample* const sample : samples) {
        const std::string file = brief(short_path(sample->name), 60);
        page.open("figure").empty("img", {{"class", sample->picture.size() < kTinyPicture ? "tiny" : ""},
                                          {"alt", file},
                                          {"loading", "lazy"},
                                          {"src", "data:image/jpeg;base64," + sample->picture}});
        page.open("figcaption").text(judged(confusion, *sample));
        page.leaf("span", file, {{"class", "file"}, {"title", brief(sample->name, 300)}});
        page.close().close();
    }
    page.close();
}

std::string piece_of(const RunRecord& run, std::int64_t id) {
    const bool known = id >= 0 && static_cast<std::size_t>(id) < run.vocabulary.size();
    return known ? run.vocabulary[static_cast<std::size_t>(id)] : std::to_string(id);
}

/// A word piece "##ing" continues the word before it, but not a mark such as [SEP].
std::string text_of(const RunRecord& run, const std::vector<std::int64_t>& tokens) {
    std::string text;
    for (const std::int64_t id : tokens) {
        const std::string piece = piece_of(run, id);
        const bool continues = piece.starts_with("##") && !text.empty() && !text.ends_with("]");
        text += continues ? piece.substr(2) : (text.empty() ? "" : " ") + piece;
    }
    return text;
}

void add_texts(Html& page, const RunRecord& run, const Confusion& confusion,
               const std::vector<const Sample*>& samples) {
    page.open("ul", {{"class", "texts"}});
    for (const Sample* const sample : samples) {
        page.open("li").leaf("strong", judged(confusion, *sample)).text(" " + brief(short_path(sample->name), 80));
        if (!sample->tokens.empty()) page.leaf("p", brief(text_of(run, sample->tokens), 600));
        page.close();
    }
    page.close();
}

/// Adds a masked word, and the network's guesses.
void add_masked(Html& page, const RunRecord& run, const MaskedWord& word) {
    const bool right = !word.guesses.empty() && word.guesses.front() == word.id;
    page.text(" ").leaf("mark", brief(piece_of(run, word.id), 40), {{"class", right ? "right" : ""}});
    std::string guesses;
    for (std::size_t i = 0; i < word.guesses.size(); ++i) {
        guesses += (i == 0 ? "" : ", ") + brief(piece_of(run, word.guesses[i]), 40) + " " +
                   probability_text(word.probabilities[i]);
    }
    page.leaf("span", " [" + guesses + "]", {{"class", "guess"}});
}

void add_sequence(Html& page, const RunRecord& run, const Sequence& sequence) {
    std::vector<std::int64_t> between;
    const auto flush = [&] {
        if (!between.empty()) page.text(" " + text_of(run, between));
        between.clear();
    };
    for (std::size_t i = 0; i < sequence.tokens.size(); ++i) {
        const auto masked = std::ranges::find(sequence.masked, i, &MaskedWord::at);
        if (masked == sequence.masked.end()) {
            between.push_back(sequence.tokens[i]);
            continue;
        }
        flush();
        add_masked(page, run, *masked);
    }
    flush();
}

}  // namespace

std::string brief(std::string_view text, std::size_t most) {
    if (text.size() <= most) return std::string(text);
    const auto continues = [&](std::size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U; };
    std::size_t begin = most / 2;
    std::size_t end = text.size() - most / 3;
    while (begin > 0 && continues(begin))
        --begin;
    while (end < text.size() && continues(end))
        ++end;
    return std::string(text.substr(0, begin)) + " ... " + std::string(text.substr(end));
}

void add_confusion(Html& page, const Confusion& confusion) {
    if (confusion.classes.empty()) return;
    page.leaf("h2", "Classes").leaf("p", "Counted: " + confusion.source + ".", {{"class", "soft"}});
    page.open("div", {{"class", "pair"}}).open("div");
    add_matrix(page, confusion);
    page.close().open("div");
    add_class_table(page, confusion);
    page.close().close();
}

void add_samples(Html& page, const RunRecord& run, const Confusion& confusion, std::size_t most_pictures) {
    if (!run.predictions || confusion.worst.empty()) return;
    constexpr std::size_t kMost = 32;
    std::vector<const Sample*> pictures;
    std::vector<const Sample*> others;
    for (const std::size_t row : confusion.worst) {
        const Sample& sample = run.predictions->rows[row];
        if (!sample.picture.empty() && pictures.size() < std::min(kMost, most_pictures)) {
            pictures.push_back(&sample);
        } else if (others.size() < kMost && pictures.empty()) {
            others.push_back(&sample);
        }
    }
    page.leaf("h2", "The most wrong " + run.predictions->unit_many);
    if (!pictures.empty()) {
        add_photos(page, confusion, pictures);
    } else {
        add_texts(page, run, confusion, others);
    }
}

void add_words(Html& page, const RunRecord& run) {
    if (!run.predictions || run.predictions->sequences.empty()) return;
    page.leaf("h2", "Masked words");
    page.leaf(
        "p",
        "Underlined: the masked word, in brackets the network's guesses with their probabilities." +
            std::string(run.vocabulary.empty() ? " Words are shown by number: give --vocab-file to see them." : ""),
        {{"class", "soft"}});
    page.open("ul", {{"class", "words"}});
    for (const Sequence& sequence : run.predictions->sequences) {
        page.open("li");
        add_sequence(page, run, sequence);
        page.close();
    }
    page.close();
}

// The section on what ran, what differs and what is missing.

namespace {

constexpr std::size_t kMostRows = 200;

void add_row(Html& page, std::string_view name, std::string_view value) {
    if (value.empty()) return;
    page.open("tr").leaf("th", name, {{"scope", "row"}}).leaf("td", brief(value, 400)).close();
}

void add_changed_options(Html& page, const RunRecord& run) {
    if (!run.knows_changed_options || run.changed_options.empty()) return;
    page.leaf("h3", "Options that differ from the defaults");
    page.open("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", "options"}});
    page.open("table").open("thead").open("tr");
    for (const char* const head : {"option", "value", "default"})
        page.leaf("th", head, {{"scope", "col"}});
    page.close().close().open("tbody");
    for (std::size_t i = 0; i < std::min(kMostRows, run.changed_options.size()); ++i) {
        const ChangedOption& option = run.changed_options[i];
        page.open("tr").open("th", {{"scope", "row"}}).leaf("code", option.flag).close();
        page.leaf("td", brief(option.value, 300));
        page.leaf("td", option.fallback.empty() ? "depends on model and data" : brief(option.fallback)).close();
    }
    page.close().close().close();
}

}  // namespace

void add_words_of(Html& page, std::string_view text) {
    constexpr std::size_t kMostOfFlag = 40;
    std::size_t written = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(' ', begin), text.size());
        const std::string_view word = text.substr(begin, end - begin);
        if (word.size() <= kMostOfFlag && (word.starts_with("--") || word.starts_with("(--"))) {
            page.text(text.substr(written, begin - written)).leaf("span", word, {{"class", "flag"}});
            written = end;
        }
        begin = end + 1;
    }
    page.text(text.substr(written));
}

void add_what_ran(Html& page, const RunRecord& run) {
    page.leaf("h2", "What exactly ran");
    if (!run.log.command_line.empty()) {
        page.open("pre");
        add_words_of(page, brief(run.log.command_line, 8000));
        page.close();
    }
    page.open("table").open("tbody");
    add_row(page, "folder", run.folder);
    add_row(page, "began", run.log.date);
    add_row(page, "machine", run.log.host);
    add_row(page, "processor", run.log.processor);
    add_row(page, "cores", run.log.cores);
    add_row(page, "backend", run.log.backend);
    add_row(page, "arithmetic", run.log.arithmetic);
    add_row(page, "program", run.argument("program_version"));
    add_row(page, "seed", run.argument("seed"));
    add_row(page, "data fingerprint", data_text(run));
    if (run.checkpoint) {
        add_row(page, "checkpoint", run.checkpoint->name);
        add_row(page, "checkpoint's header", "crc32c " + run.checkpoint->header_crc);
    }
    page.close().close();
    add_changed_options(page, run);
}

void add_differences(Html& page, const std::vector<RunRecord>& runs, const Comparison& comparison) {
    if (comparison.options.empty()) return;
    page.leaf("h2", "Options that differ between the runs");
    page.open("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", "differences"}});
    page.open("table").open("thead").open("tr").leaf("th", "option", {{"scope", "col"}});
    for (const RunRecord& run : runs)
        page.leaf("th", brief(run.name, 60), {{"scope", "col"}});
    page.close().close().open("tbody");
    for (std::size_t i = 0; i < std::min(kMostRows, comparison.options.size()); ++i) {
        const Difference& difference = comparison.options[i];
        page.open("tr").open("th", {{"scope", "row"}}).leaf("code", brief(difference.key)).close();
        for (std::size_t run = 0; run < runs.size(); ++run) {
            const bool recorded = runs[run].arguments.contains(difference.key);
            const std::string& value = difference.values[run];
            page.leaf("td", !recorded ? "not recorded" : value.empty() ? "none" : brief(value));
        }
        page.close();
    }
    page.close().close().close();
}

void add_missing(Html& page, const std::vector<RunRecord>& runs) {
    const bool any = std::ranges::any_of(runs, [](const RunRecord& run) { return !run.missing.empty(); });
    if (!any) return;
    page.leaf("h2", "What is missing").open("ul");
    for (const RunRecord& run : runs) {
        for (const std::string& one : run.missing)
            page.leaf("li", (runs.size() > 1 ? brief(run.name, 60) + ": " : "") + brief(one, 500));
    }
    page.close();
}

// The section on time: parts of updates and of the run, operations, ranks.

namespace {

std::string rate(double work, double seconds) {
    return work > 0 && seconds > 0 ? formatted("%.1f", work / seconds) : "-";
}

void add_numbers(Html& page, const std::vector<std::string>& cells) {
    for (const std::string& cell : cells)
        page.leaf("td", cell, {{"class", "number"}});
}

/// The operations that --profile measured, the longest first.
void add_profile(Html& page, const profile::Profile& profile) {
    constexpr std::size_t kMostOperations = 16;
    if (profile.rows.empty() || !(profile.step_seconds > 0)) return;
    page.leaf("h3", "Operations of a weight update");
    std::string text = formatted("Measured by --profile in %lld updates of %.4g ms.",
                                 static_cast<long long>(profile.steps), 1e3 * profile.step_seconds);
    if (profile.peaks.are_known()) {
        text += formatted(" Peaks of the machine: %.0f GFLOP/s", profile.peaks.flops_per_second / 1e9);
        for (const MemoryLevel& level : profile.peaks.levels)
            text += formatted(", %.0f GB/s (%s)", level.rates.best() / 1e9, level.name.c_str());
        text += ". Roofline: the least time that these allow, as a share of the measured time.";
    }
    page.leaf("p", brief(text, 500), {{"class", "soft"}});
    page.open("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", "operations"}});
    page.open("table").open("thead").open("tr");
    page.leaf("th", "operation", {{"scope", "col"}}).leaf("th", "phase", {{"scope", "col"}});
    for (const char* const head : {"ms", "share", "GFLOP/s", "GB/s", "roofline"})
        page.leaf("th", head, {{"scope", "col"}, {"class", "number"}});
    page.leaf("th", "bound", {{"scope", "col"}}).close().close().open("tbody");
    std::size_t shown = 0;
    for (const auto& [row, least] : profile::by_operation(profile.rows, profile.peaks)) {
        if (++shown > kMostOperations) break;
        page.open("tr").leaf("th", brief(row.op, 60), {{"scope", "row"}}).leaf("td", brief(row.phase, 20));
        add_numbers(
            page, {formatted("%.3f", 1e3 * row.seconds), formatted("%.1f %%", 100 * row.seconds / profile.step_seconds),
                   rate(row.gflop, row.seconds), rate(1e-3 * row.megabytes, row.seconds),
                   least.seconds > 0 ? formatted("%.0f %%", 100 * least.share_of(row.seconds)) : "-"});
        page.leaf("td", least.seconds > 0 ? least.bound : "-").close();
    }
    page.close().close().close();
}

}  // namespace

void add_times(Html& page, const RunRecord& run, const Speed& speed) {
    const bool ranks = run.ranks.rows() > 0;
    if (speed.update_parts.empty() && speed.run_parts.empty() && !ranks && !run.profile) return;
    page.leaf("h2", "Where the time went").open("div", {{"class", "grid"}});
    draw_parts(page, "Weight updates", speed.update_parts);
    draw_parts(page, "The whole run", speed.run_parts);
    page.close();
    if (run.profile) add_profile(page, *run.profile);
    if (!run.log.exchange.empty()) page.leaf("p", run.log.exchange + ".");
    if (!ranks) return;
    page.leaf("h3", "Ranks");
    page.open("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", "ranks"}});
    page.open("table").open("thead").open("tr");
    for (const char* const head : {"rank", "updates", "seconds in updates", "waiting for input", "exchange",
                                   "exchange behind the backward pass", "processor seconds"})
        page.leaf("th", head, {{"scope", "col"}, {"class", "number"}});
    page.close().close().open("tbody");
    for (std::size_t row = 0; row < run.ranks.rows(); ++row) {
        page.open("tr").leaf("th", run.ranks.text(row, "rank"), {{"scope", "row"}, {"class", "number"}});
        page.leaf("td", run.ranks.text(row, "updates"), {{"class", "number"}});
        for (const char* const column : {"update_seconds", "input_wait_seconds", "exchange_seconds",
                                         "exposed_exchange_seconds", "processor_seconds"})
            page.leaf("td", duration_text(run.ranks.number(row, column)), {{"class", "number"}});
        page.close();
    }
    page.close().close().close();
}

}  // namespace cnntrain::report
