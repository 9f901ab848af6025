// The page: what is known of runs as JSON, within template.html, whose script shows it.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/text.h"
#include "cnntrain/insight/findings.h"
#include "cnntrain/parallel/pipeline.h"

namespace cnntrain::report {

/// template.html, which CMake makes a source of the build folder.
extern const std::string_view kTemplate;

namespace {

using nlohmann::json;
using Runs = std::vector<RunRecord>;

constexpr std::size_t kMostRows = 200;  // of a table

/// The text, cut in the middle if it is longer than `most` bytes.
std::string brief(std::string_view text, std::size_t most = 120) {
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

// The first screen

std::string status_of(const RunRecord& run, const PageSettings& settings) {
    constexpr std::string_view kEnds[] = {"finished",    "ended early", "stopped",         "ended with an error",
                                          "still going", "killed",      "end not recorded"};
    return std::string(entry_of(kEnds, run.end)) + (run.log.date.empty() ? "" : ", began " + run.log.date) +
           "; page written " + settings.written;
}

std::string tone_of(Verdict verdict) {
    if (verdict == Verdict::learned) return "good";
    return verdict == Verdict::none || verdict == Verdict::diverged ? "bad" : "";
}

json answer(const std::vector<std::string>& sentences) {
    json texts = json::array();
    for (const std::string& sentence : sentences)
        texts.push_back(brief(sentence, 700));
    return texts;
}

json description_of(const RunRecord& run) {
    std::vector<std::string> sentences = describe_run(run);
    if (!run.log.command_line.empty()) sentences.push_back(brief(run.log.command_line, 240));
    return answer(sentences);
}

// Curves

/// Adds a line, unless it has no points. Runs of neighbouring points are replaced by their means, so that at most
/// kMostPoints are left. `line`: its name and colour; it can be dashed, have dots, or be noisy, so that it is smoothed.
void add_line(json& chart, const Curve& curve, json line) {
    constexpr std::size_t kMostPoints = 400;
    std::vector<std::size_t> points;
    for (std::size_t i = 0; i < curve.size(); ++i) {
        if (std::isfinite(curve.x[i]) && std::isfinite(curve.y[i])) points.push_back(i);
    }
    if (points.empty()) return;
    const std::size_t each = (points.size() + kMostPoints - 1) / kMostPoints;
    for (std::size_t begin = 0; begin < points.size(); begin += each) {
        const std::size_t count = std::min(each, points.size() - begin);
        double x = 0;
        double y = 0;
        for (const std::size_t i : std::span(points).subspan(begin, count)) {
            x += curve.x[i] / static_cast<double>(count);
            y += curve.y[i] / static_cast<double>(count);
        }
        line["x"].push_back(json::parse(formatted("%.5g", x)));  // no chart shows more digits
        line["y"].push_back(json::parse(formatted("%.5g", y)));
        line["last"] = number_text(y);
    }
    chart["lines"].push_back(line);
}

void add_chart(json& page, const Runs& runs, std::string_view title, std::string_view unit, json chart) {
    if (chart.empty()) return;
    const bool epochs = std::ranges::all_of(
        runs, [](const RunRecord& run) { return run.training.has("epoch") || run.validation.has("epoch"); });
    chart.update({{"title", title}, {"unit", unit}, {"axis", epochs ? "epoch" : "iteration"}});
    page["curves"].push_back(chart);
}

void add_measure(json& page, const Runs& runs, const Measure& measure) {
    constexpr std::size_t kTrainingColour = 1;
    constexpr std::size_t kAverageColour = 5;
    const bool single = runs.size() == 1;
    json chart;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const std::string name = single ? "" : brief(runs[i].name, 40) + ": ";
        const std::size_t colour = single ? kTrainingColour : i;
        add_line(chart, training_curve(runs[i], measure),
                 {{"name", name + "training"}, {"colour", colour}, {"dashed", true}, {"noisy", true}});
        add_line(chart, validation_curve(runs[i], measure),
                 {{"name", name + "validation"}, {"colour", i}, {"dots", true}});
    }
    const Curve average = single ? validation_curve(runs.front(), measure, Validated::average) : Curve();
    add_line(chart, average, {{"name", "validation of the average"}, {"colour", kAverageColour}, {"dots", true}});
    add_chart(page, runs, measure.title, measure.unit, chart);
}

void add_column(json& page, const Runs& runs, const std::string& title, const std::string& column, const char* unit,
                bool noisy) {
    json chart;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        add_line(chart, training_column(runs[i], column),
                 {{"name", runs.size() == 1 ? title : brief(runs[i].name, 40)}, {"colour", i}, {"noisy", noisy}});
    }
    add_chart(page, runs, title, unit, chart);
}

void add_curves(json& page, const Runs& runs) {
    std::set<std::string_view> titles;
    for (const RunRecord& run : runs) {
        for (const Measure& measure : measures_of(run)) {
            if (titles.insert(measure.title).second) add_measure(page, runs, measure);
        }
    }
    add_column(page, runs, "Learning rate", "lr", "", false);
    add_column(page, runs, "Throughput", rate_column(runs.front()), " per second", true);
}

// Shares of the time

void add_parts(json& page, const char* title, const std::vector<TimePart>& parts) {
    json rows = json::array();
    double whole = 0;
    for (const TimePart& part : parts) {
        rows.push_back({{"name", part.name}, {"seconds", part.seconds}, {"text", duration_text(part.seconds)}});
        whole += part.seconds;
    }
    if (whole > 0) page["parts"].push_back({{"title", title}, {"rows", rows}});
}

std::string work_rate(double work, double seconds) {
    return work > 0 && seconds > 0 ? formatted("%.1f", work / seconds) : "-";
}

/// Adds the operations that --profile measured, the longest first.
void add_operations(json& page, const profile::Profile& profile) {
    constexpr std::size_t kMostOperations = 16;
    if (!(profile.step_seconds > 0)) return;
    std::string text = formatted("Measured by --profile in %lld updates of %.4g ms.",
                                 static_cast<long long>(profile.steps), 1e3 * profile.step_seconds);
    if (profile.peaks.are_known()) {
        text += formatted(" Peaks of the machine: %.0f GFLOP/s", profile.peaks.flops_per_second / 1e9);
        for (const MemoryLevel& level : profile.peaks.levels)
            text += formatted(", %.0f GB/s (%s)", level.rates.best() / 1e9, level.name.c_str());
        text += ". Roofline: the least time that these allow, as a share of the measured time.";
    }
    page["measured"] = brief(text, 500);
    for (const auto& [row, least] : profile::by_operation(profile.rows, profile.peaks)) {
        if (page["operations"].size() == kMostOperations) break;
        const bool known = least.seconds > 0;
        page["operations"].push_back({brief(row.op, 60), brief(row.phase, 20), formatted("%.3f", 1e3 * row.seconds),
                                      formatted("%.1f %%", kPercent * row.seconds / profile.step_seconds),
                                      work_rate(row.gflop, row.seconds), work_rate(1e-3 * row.megabytes, row.seconds),
                                      known ? formatted("%.0f %%", kPercent * least.share_of(row.seconds)) : "-",
                                      known ? least.bound : "-"});
    }
}

void add_times(json& page, const RunRecord& run, const Speed& speed) {
    add_parts(page, "Weight updates", speed.update_parts);
    add_parts(page, "The whole run", speed.run_parts);
    if (run.profile) add_operations(page, *run.profile);
    if (!run.log.exchange.empty()) page["exchange"] = run.log.exchange + ".";
    for (std::size_t row = 0; row < run.ranks.rows(); ++row) {
        json cells = {run.ranks.text(row, "rank"), run.ranks.text(row, "updates")};
        for (const char* const column : {"update_seconds", "input_wait_seconds", "exchange_seconds",
                                         "exposed_exchange_seconds", "processor_seconds"}) {
            const double seconds = run.ranks.number(row, column);
            cells.push_back(std::isfinite(seconds) ? duration_text(seconds) : "-");
        }
        page["ranks"].push_back(cells);
    }
}

// Classes, the most wrong samples, masked words

std::string brief_name(const Confusion& confusion, std::int64_t label) {
    const auto place = static_cast<std::size_t>(label);
    return brief(place < confusion.names.size() ? confusion.names[place] : std::to_string(label), 60);
}

/// Adds the matrix of all classes, or of those that take part in the most confusions.
void add_matrix(json& page, const Confusion& confusion) {
    constexpr std::size_t kMostInMatrix = 20;
    if (confusion.pairs.empty() && confusion.worst.empty()) return;
    std::vector<std::int64_t> labels(confusion.classes.size());
    std::iota(labels.begin(), labels.end(), 0);
    if (labels.size() > kMostInMatrix) {
        std::vector<std::int64_t> wrong(labels.size());
        for (const ConfusedPair& pair : confusion.pairs) {
            wrong[static_cast<std::size_t>(pair.label)] += pair.count;
            wrong[static_cast<std::size_t>(pair.taken_for)] += pair.count;
        }
        std::ranges::stable_sort(labels, std::greater<>(),
                                 [&](std::int64_t label) { return wrong[static_cast<std::size_t>(label)]; });
        labels.resize(kMostInMatrix);
        std::ranges::sort(labels);
        page["shown"] = formatted(" The %zu of %zu classes that are confused most often.", kMostInMatrix, wrong.size());
    }
    for (const std::int64_t label : labels) {
        json counts = json::array();
        for (const std::int64_t taken_for : labels)
            counts.push_back(confusion.count(label, taken_for));
        page["matrix"].push_back({{"name", brief_name(confusion, label)},
                                  {"samples", confusion.classes[static_cast<std::size_t>(label)].samples},
                                  {"counts", counts}});
    }
}

std::string share_text(double share) {
    return std::isnan(share) ? "-" : formatted("%.1f %%", kPercent * share);
}

void add_classes(json& page, const Confusion& confusion) {
    if (confusion.classes.empty()) return;
    page["counted"] = confusion.source;
    add_matrix(page, confusion);
    std::vector<ClassResult> classes = confusion.classes;
    std::erase_if(classes, [](const ClassResult& one) { return one.samples == 0 && one.predicted == 0; });
    std::ranges::stable_sort(classes, {},
                             [](const ClassResult& one) { return std::isnan(one.recall()) ? 2 : one.recall(); });
    if (classes.size() > kMostRows) page["weakest"] = formatted(" (%zu of %zu)", kMostRows, classes.size());
    classes.resize(std::min(kMostRows, classes.size()));
    for (const ClassResult& one : classes) {
        page["classes"].push_back({brief_name(confusion, one.label), one.samples, share_text(one.recall()),
                                   one.predicted, share_text(one.precision()), share_text(one.f1())});
    }
}

/// The word piece of a token, or its number.
std::string piece_of(const RunRecord& run, std::int64_t id) {
    const bool known = id >= 0 && static_cast<std::size_t>(id) < run.vocabulary.size();
    return known ? brief(run.vocabulary[static_cast<std::size_t>(id)], 40) : std::to_string(id);
}

/// Adds the most wrong samples: those with pictures or, if there are none, texts.
void add_samples(json& page, const RunRecord& run, const Confusion& confusion) {
    constexpr std::size_t kMost = 32;
    if (!run.predictions) return;
    page["unit"] = run.predictions->unit_many;
    const auto named = [&](std::int64_t label, double probability) {
        return brief_name(confusion, label) + " (" + probability_text(probability) + ")";
    };
    json photos = json::array();
    json texts = json::array();
    for (const std::size_t row : confusion.worst) {
        const Sample& sample = run.predictions->rows[row];
        json shown = {{"text", named(sample.label, sample.own) + ", taken for " +
                                   named(sample.classes.front(), sample.probabilities.front())},
                      {"file", brief(short_path(sample.name), 60)},
                      {"path", brief(sample.name, 300)}};
        if (!sample.picture.empty() && photos.size() < kMost) {
            shown["picture"] = sample.picture;
            if (!sample.map.empty()) shown["map"] = sample.map;
            photos.push_back(shown);
        } else if (texts.size() < kMost && photos.empty()) {
            for (const std::int64_t id : sample.tokens)
                shown["pieces"].push_back(piece_of(run, id));
            texts.push_back(shown);
        }
    }
    page[photos.empty() ? "texts" : "photos"] = photos.empty() ? texts : photos;
}

/// Adds each sequence as its word pieces. Masked ones have the network's guesses.
void add_words(json& page, const RunRecord& run) {
    if (!run.predictions) return;
    page["numbered"] = run.vocabulary.empty();
    for (const Sequence& sequence : run.predictions->sequences) {
        json pieces = json::array();
        for (const std::int64_t id : sequence.tokens)
            pieces.push_back(piece_of(run, id));
        for (const MaskedWord& word : sequence.masked) {
            std::vector<std::string> guesses;
            for (std::size_t i = 0; i < word.guesses.size(); ++i)
                guesses.push_back(piece_of(run, word.guesses[i]) + " " + probability_text(word.probabilities[i]));
            const bool right = !word.guesses.empty() && word.guesses.front() == word.id;
            pieces.at(word.at) = {{"word", piece_of(run, word.id)}, {"right", right}, {"guesses", joined(guesses)}};
        }
        page["sequences"].push_back(pieces);
    }
}

// Histograms

/// Numbers of values in equal intervals of [low, high]; values beyond do not count.
json bars_of(const std::vector<double>& values, double low, double high, std::size_t intervals) {
    std::vector<std::int64_t> counts(intervals);
    if (high <= low) high = low + std::max(1e-9, 0.1 * std::fabs(low));
    for (const double value : values) {
        if (value < low || value > high) continue;
        const double place = (value - low) / (high - low) * static_cast<double>(intervals);
        ++counts[std::min(static_cast<std::size_t>(place), intervals - 1)];
    }
    return {{"low", low}, {"high", high}, {"counts", counts}};
}

struct Series {
    const char* name;
    int colour;
    std::vector<double> values = {};  // finite ones
};

void add_histogram(json& page, const char* title, const char* axis, const std::vector<Series>& series) {
    constexpr std::size_t kIntervals = 24;
    std::vector<double> all;
    for (const Series& one : series)
        all.insert(all.end(), one.values.begin(), one.values.end());
    if (all.empty()) return;
    const auto [low, high] = std::ranges::minmax(all);
    json drawn = json::array();
    for (const Series& one : series) {
        json bars = bars_of(one.values, low, high, kIntervals);
        bars["name"] = one.name;
        bars["colour"] = one.colour;
        drawn.push_back(bars);
    }
    page["histograms"].push_back({{"title", title}, {"axis", axis}, {"series", drawn}});
}

void add_histograms(json& page, const RunRecord& run) {
    Series right{"classified correctly", 2};
    Series wrong{"wrong", 1};
    Series own{"all", 0};
    for (const Sample& sample : run.predictions ? run.predictions->rows : std::vector<Sample>()) {
        if (sample.classes.empty()) continue;
        (sample.is_wrong() ? wrong : right).values.push_back(sample.probabilities.front());
        own.values.push_back(sample.own);
    }
    Series times{"log lines", 3};
    for (std::size_t row = 0; row < run.training.rows(); ++row)
        times.values.push_back(1e3 * run.training.number(row, "it_time"));
    std::erase_if(times.values, [](double value) { return !std::isfinite(value); });
    add_histogram(page, "Probability of the predicted class", "probability", {right, wrong});
    add_histogram(page, "Probability of the true class", "probability", {own});
    if (times.values.size() > 1)
        add_histogram(page, "Duration of a weight update, by log line", "milliseconds", {times});
}

/// Adds the accuracy of samples whose best class has about the same probability.
void add_reliability(json& page, const RunRecord& run) {
    if (!run.predictions || run.predictions->calibration.size() != 2) return;
    const Predictions& predictions = *run.predictions;
    json chart = {{"title", "Reliability: accuracy by probability of the predicted class"},
                  {"unit", " %"},
                  {"axis", "probability, %"}};
    add_line(chart, {{0, 100}, {0, 100}}, {{"name", "reliable"}, {"colour", 5}, {"dashed", true}});
    const std::string names[] = {"as they are", formatted("with temperature %.3g", predictions.temperature)};
    for (std::size_t i = 0; i < 2; ++i) {
        Curve curve;
        for (const metrics::ConfidenceBin& bin : predictions.calibration[i].bins) {
            if (bin.samples == 0) continue;
            curve.x.push_back(100 * bin.confidence / static_cast<double>(bin.samples));
            curve.y.push_back(100 * static_cast<double>(bin.correct) / static_cast<double>(bin.samples));
        }
        add_line(chart, curve, {{"name", names[i]}, {"colour", 1 - i}, {"dots", true}});
    }
    page["reliability"].push_back(chart);
}

/// Adds histograms between the 0.1th and the 99.9th percentile.
void add_weights(json& page, const RunRecord& run) {
    constexpr std::size_t kIntervals = 32;
    constexpr std::size_t kCut = 1000;  // one of so many values is beyond each end
    if (!run.checkpoint) return;
    page["checkpoint"] = run.checkpoint->name;
    for (const WeightGroup& group : run.weights) {
        if (group.values.empty()) continue;
        std::vector<double> values = group.values;
        std::ranges::sort(values);
        const auto count = static_cast<double>(values.size());
        const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
        const double square = std::inner_product(values.begin(), values.end(), values.begin(), 0.0) / count;
        const std::size_t beyond = values.size() / kCut;
        json bars = bars_of(values, values[beyond], values[values.size() - 1 - beyond], kIntervals);
        bars["name"] = brief(group.name, 60);
        bars["detail"] =
            formatted("mean %.2g, deviation %.2g; ", mean, std::sqrt(std::max(0.0, square - mean * mean))) +
            std::to_string(group.elements) + " values in " + counted(group.tensors, "tensor") +
            (group.not_finite > 0 ? "; some are not finite" : "");
        page["weights"].push_back(bars);
    }
}

// The pipeline

/// "F0 B1" for each stage and tick.
json ticks_of(const schedule::Pipeline& pipeline, std::int64_t micro_batches, std::int64_t ticks) {
    const std::vector<std::string> idle(static_cast<std::size_t>(ticks));
    std::vector<std::vector<std::string>> stages(static_cast<std::size_t>(pipeline.stages), idle);
    for (std::int64_t tick = 0; tick < ticks; ++tick) {
        for (const schedule::StageWork& work : schedule::work_at(pipeline, micro_batches, tick)) {
            std::string& cell = stages[static_cast<std::size_t>(work.stage)][static_cast<std::size_t>(tick)];
            cell += std::string(cell.empty() ? "" : " ") + (work.backward ? "B" : "F");
            cell += std::to_string(work.micro_batch);
        }
    }
    return stages;
}

void add_pipeline(json& page, const RunRecord& run) {
    constexpr std::int64_t kMostTicks = 64;
    if (run.log.stage_count < 2) return;
    const auto schedule = named<schedule::PipelineSchedule>(run.argument("pipeline_schedule"));
    const schedule::Pipeline pipeline{static_cast<std::int32_t>(run.log.stage_count),
                                      schedule.value_or(schedule::PipelineSchedule::sequential)};
    std::int64_t micro_batches = std::atoll(run.argument("gradient_accumulation_count").c_str());
    if (micro_batches < 1) micro_batches = std::int64_t{2} * pipeline.stages;
    const std::int64_t ticks = schedule::tick_count(pipeline, micro_batches);
    const std::int64_t shown = std::min(ticks, kMostTicks);
    page["pipeline"] = formatted(
        "%d stages, %lld micro-batches for each weight update. With equal stages, each waits "
        "%.0f %% of the time.",
        pipeline.stages, static_cast<long long>(micro_batches),
        kPercent * schedule::bubble(pipeline, micro_batches, {1, 2}));
    page["ticks"] = "Ticks of one weight update, " + std::string(spelling(pipeline.schedule)) +
                    " pipeline: F forward, B backward, with the number of the micro-batch" +
                    (shown < ticks ? "; the first " + std::to_string(shown) + " of " + std::to_string(ticks) : "");
    page["stages"] = ticks_of(pipeline, micro_batches, shown);
    page["memory"] = brief(run.log.stages, 4000);
}

// Facts of the run, differences between runs, missing parts

void add_what_ran(json& page, const RunRecord& run) {
    const std::pair<const char*, std::string> values[] = {
        {"folder", run.folder},
        {"began", run.log.date},
        {"machine", run.log.host},
        {"processor", run.log.processor},
        {"cores", run.log.cores},
        {"backend", run.log.backend},
        {"arithmetic", run.log.arithmetic},
        {"program", run.argument("program_version")},
        {"seed", run.argument("seed")},
        {"data fingerprint", data_text(run)},
        {"checkpoint", run.checkpoint ? run.checkpoint->name : ""},
        {"checkpoint's header", run.checkpoint ? "crc32c " + run.checkpoint->header_crc : ""}};
    page["line"] = brief(run.log.command_line, 8000);
    for (const auto& [name, value] : values) {
        if (!value.empty()) page["values"].push_back({name, brief(value, 400)});
    }
    if (!run.knows_changed_options) return;
    for (const ChangedOption& option : run.changed_options) {
        if (page["options"].size() == kMostRows) break;
        page["options"].push_back({option.flag, brief(option.value, 300),
                                   option.fallback.empty() ? "depends on model and data" : brief(option.fallback)});
    }
}

void add_differences(json& page, const Runs& runs, const Comparison& comparison) {
    for (const RunRecord& run : runs) {
        page["runs"].push_back(brief(run.name, 60));
        for (const std::string& one : run.missing)
            page["missing"].push_back((runs.size() > 1 ? brief(run.name, 60) + ": " : "") + brief(one, 500));
    }
    for (const Difference& difference : comparison.options) {
        if (page["differences"].size() == kMostRows) break;
        json cells = {brief(difference.key)};
        for (std::size_t i = 0; i < runs.size(); ++i) {
            const bool recorded = runs[i].arguments.contains(difference.key);
            const std::string& value = difference.values[i];
            cells.push_back(!recorded ? "not recorded" : value.empty() ? "none" : brief(value));
        }
        page["differences"].push_back(cells);
    }
}

// The page as a file

/// The facts by the names that the template has for them. A run without a fact lacks the name.
json facts_of_page(const Runs& runs, const PageSettings& settings) {
    const RunRecord& run = runs.front();
    const Learning learning = judge_learning(run);
    const Speed speed = judge_speed(run);
    const Confusion confusion = judge_confusion(run);
    const Comparison comparison = compare_runs(runs);
    const std::string more = runs.size() > 1 ? formatted(" and %zu more", runs.size() - 1) : "";
    json page = {{"title", brief(run.name, 80) + more}, {"status", status_of(run, settings)},
                 {"version", settings.version},         {"reload", settings.reload_seconds},
                 {"tone", tone_of(learning.verdict)},   {"learning", answer(learning.sentences)},
                 {"limits", answer(speed.sentences)},   {"confusions", answer(confusion.sentences)},
                 {"description", description_of(run)},  {"changes", answer(comparison.sentences)}};
    add_curves(page, runs);
    add_times(page, run, speed);
    add_classes(page, confusion);
    add_samples(page, run, confusion);
    add_words(page, run);
    add_reliability(page, run);
    add_histograms(page, run);
    add_weights(page, run);
    add_pipeline(page, run);
    add_what_ran(page, run);
    add_differences(page, runs, comparison);
    return page;
}

/// The template with the facts in it. Nothing in them can end the element that holds them: "<" is escaped, as are all
/// characters beyond ASCII; bytes that are no UTF-8 are replaced.
std::string filled_template(const json& facts) {
    constexpr std::string_view kPlace = "{facts}";
    std::string text;
    for (const char c : facts.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace))
        text += c == '<' ? "\\u003c" : std::string(1, c);
    std::string page(kTemplate);
    return page.replace(page.find(kPlace), kPlace.size(), text);
}

// The begin of every page, by which is_page() recognises it.
constexpr std::string_view kBegin = "<!DOCTYPE html>\n<html lang=\"en\" data-program=\"cnntrain report\">\n";

// The last line of every page, with the checksum of all before it.
constexpr std::string_view kSeal = "<!-- crc32c ";

std::string sealed(const std::string& page) {
    return page + std::string(kSeal) + hex_text(crc32c(std::as_bytes(std::span(page)))) + " -->\n";
}

}  // namespace

std::string page_of(const std::vector<RunRecord>& runs, const PageSettings& settings) {
    CNNTRAIN_CHECK(!runs.empty(), "a page needs a run");
    if (runs.size() > kMostRuns) {
        throw Error(ErrorKind::usage, "cnntrain report: " + std::to_string(runs.size()) + " runs; a page compares " +
                                          std::to_string(kMostRuns) + " at most");
    }
    json facts = facts_of_page(runs, settings);
    std::string page = filled_template(facts);
    while (page.size() > kMostPageBytes && facts.contains("photos") && !facts["photos"].empty()) {
        json& photos = facts["photos"];
        photos.erase(photos.begin() + std::ssize(photos) / 2, photos.end());
        page = filled_template(facts);
    }
    return sealed(page);
}

bool is_page(const FileSystem& files, const std::string& path) {
    if (beginning_of(files, path, kBegin.size()) != kBegin) return false;
    const std::string text = read_text(files, path);
    const std::size_t seal = text.rfind(kSeal);
    return seal == std::string::npos || text == sealed(text.substr(0, seal));  // earlier versions wrote none
}

}  // namespace cnntrain::report
