#include "insight/report/draw/charts.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cnntrain/base/text.h"
#include "insight/report/percent.h"

namespace cnntrain::report {
namespace {

// Maps values to places in a chart, and chooses round numbers for its axes.

/// Maps [low, high] to [from, to].
struct Scale {
    double low = 0, high = 1;
    double from = 0, to = 1;

    double operator()(double value) const { return from + (value - low) / (high - low) * (to - from); }
};

/// The step between round numbers, 1, 2 or 5 times a power of ten, of which about `count` fit into a range.
inline double round_step(double range, int count) {
    const double rough = range / count;
    const double power = std::pow(10.0, std::floor(std::log10(rough)));
    const double factor = rough / power;
    return power * (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10);
}

/// The round numbers in a range.
inline std::vector<double> round_numbers(double low, double high, int count) {
    const double step = round_step(high - low, count);
    std::vector<double> numbers;
    for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i)
        numbers.push_back(i * step);
    return numbers;
}

inline std::string place_text(double place) {
    return formatted("%.1f", place);
}

/// A number of an axis: "0.05", "1e-05", "2000".
inline std::string axis_text(double value) {
    return std::fabs(value) < 1e-12 ? "0" : formatted("%.4g", value);
}

}  // namespace

// Shares, histograms and the chart of a pipeline.

namespace {

constexpr double kBarsWidth = 400, kBarsHeight = 200;
constexpr double kBarsLeft = 44, kBarsRight = 392, kBarsTop = 10, kBarsBottom = 168;

struct Bins {
    double low = 0, width = 1;
    std::vector<std::vector<std::size_t>> counts;  // [series][bin]
    std::size_t most = 0;
};

Bins counted_in(const std::vector<HistogramSeries>& series) {
    constexpr std::size_t kBins = 24;
    double low = INFINITY;
    double high = -INFINITY;
    for (const HistogramSeries& one : series) {
        for (const double value : one.values) {
            if (!std::isfinite(value)) continue;
            low = std::min(low, value);
            high = std::max(high, value);
        }
    }
    Bins bins;
    if (!(high >= low)) return bins;
    if (high == low) high = low + std::max(1e-9, 0.1 * std::fabs(low));
    bins.low = low;
    bins.width = (high - low) / kBins;
    for (const HistogramSeries& one : series) {
        std::vector<std::size_t> counts(kBins);
        for (const double value : one.values) {
            if (!std::isfinite(value)) continue;
            const auto bin = static_cast<std::size_t>((value - low) / bins.width);
            bins.most = std::max(bins.most, ++counts[std::min(bin, kBins - 1)]);
        }
        bins.counts.push_back(std::move(counts));
    }
    return bins;
}

std::string cell_text(const schedule::StageWork& work) {
    return (work.backward ? "B" : "F") + std::to_string(work.micro_batch);
}

}  // namespace

void draw_parts(Html& page, const std::string& title, const std::vector<TimePart>& parts) {
    double whole = 0;
    for (const TimePart& part : parts)
        whole += part.seconds;
    if (whole <= 0) return;
    page.open("figure", {{"class", "parts"}}).leaf("figcaption", title).open("table");
    page.open("tbody");
    for (const TimePart& part : parts) {
        const double share = kPercent * part.seconds / whole;
        page.open("tr").leaf("th", part.name, {{"scope", "row"}}).open("td", {{"class", "bar"}});
        page.open("svg", {{"viewBox", "0 0 100 10"}, {"preserveAspectRatio", "none"}, {"aria-hidden", "true"}});
        page.empty("rect", {{"class", "track"}, {"x", "0"}, {"y", "0"}, {"width", "100"}, {"height", "10"}});
        page.empty(
            "rect",
            {{"class", "fill c0"}, {"x", "0"}, {"y", "0"}, {"width", formatted("%.2f", share)}, {"height", "10"}});
        page.close().close();
        page.leaf("td", formatted("%.1f %%", share)).leaf("td", duration_text(part.seconds)).close();
    }
    page.close().close().close();
}

void draw_histogram(Html& page, const std::string& title, const std::string& axis,
                    const std::vector<HistogramSeries>& series) {
    const Bins bins = counted_in(series);
    if (bins.most == 0) return;
    const std::size_t count = bins.counts.front().size();
    const Scale x{bins.low, bins.low + bins.width * static_cast<double>(count), kBarsLeft, kBarsRight};
    const Scale y{0, static_cast<double>(bins.most), kBarsBottom, kBarsTop};
    page.open("figure", {{"class", "chart"}}).leaf("figcaption", title);
    page.open(
        "svg",
        {{"viewBox", formatted("0 0 %.0f %.0f", kBarsWidth, kBarsHeight)}, {"role", "img"}, {"aria-label", title}});
    for (const double value : round_numbers(0, y.high, 4)) {
        if (value != std::floor(value)) continue;
        page.empty("line", {{"class", "rule"},
                            {"x1", place_text(kBarsLeft)},
                            {"x2", place_text(kBarsRight)},
                            {"y1", place_text(y(value))},
                            {"y2", place_text(y(value))}});
        page.leaf("text", axis_text(value),
                  {{"x", place_text(kBarsLeft - 6)}, {"y", place_text(y(value) + 4)}, {"text-anchor", "end"}});
    }
    const double bar = (kBarsRight - kBarsLeft) / static_cast<double>(count * series.size());
    for (std::size_t s = 0; s < series.size(); ++s) {
        for (std::size_t bin = 0; bin < count; ++bin) {
            if (bins.counts[s][bin] == 0) continue;
            const double height = std::max(1.0, kBarsBottom - y(static_cast<double>(bins.counts[s][bin])));
            page.empty("rect", {{"class", formatted("fill c%d", series[s].colour)},
                                {"x", place_text(kBarsLeft + bar * static_cast<double>(bin * series.size() + s))},
                                {"y", place_text(kBarsBottom - height)},
                                {"width", place_text(std::max(1.0, bar - 1))},
                                {"height", place_text(height)}});
        }
    }
    for (const double value : round_numbers(x.low, x.high, 5)) {
        page.leaf("text", axis_text(value),
                  {{"x", place_text(x(value))}, {"y", place_text(kBarsBottom + 15)}, {"text-anchor", "middle"}});
    }
    page.leaf("text", axis,
              {{"x", place_text(kBarsRight)}, {"y", place_text(kBarsHeight - 2)}, {"text-anchor", "end"}});
    page.close().open("ul", {{"class", "legend"}});
    for (const HistogramSeries& one : series) {
        if (one.values.empty()) continue;
        page.open("li").open("svg", {{"class", "key"}, {"viewBox", "0 0 22 8"}, {"aria-hidden", "true"}});
        page.empty("rect", {{"class", formatted("fill c%d", one.colour)}, {"width", "22"}, {"height", "8"}});
        page.close().text(one.name + ": " + std::to_string(one.values.size())).close();
    }
    page.close().close();
}

void draw_small_histogram(Html& page, const std::string& title, const std::string& detail, std::vector<double> values) {
    constexpr std::size_t kBins = 32;
    constexpr double kBarsRight = 160, kBarsTop = 4, kBarsBottom = 48, kBelow = 62;
    constexpr std::ptrdiff_t kCut = 1000;  // one of so many values is beyond each end
    if (values.empty()) return;
    std::ranges::sort(values);
    const std::ptrdiff_t beyond = std::ssize(values) / kCut;
    const double low = values[static_cast<std::size_t>(beyond)];
    double high = values[values.size() - 1 - static_cast<std::size_t>(beyond)];
    if (high <= low) high = low + std::max(1e-9, 0.1 * std::fabs(low));
    std::vector<double> counts(kBins);
    for (const double value : values) {
        const double bin = (value - low) / (high - low) * kBins;
        if (bin >= 0 && bin <= kBins) ++counts[std::min(static_cast<std::size_t>(bin), kBins - 1)];
    }
    const Scale x{low, high, 0, kBarsRight};
    const Scale y{0, std::ranges::max(counts), kBarsBottom, kBarsTop};
    std::string outline = "M0 " + place_text(kBarsBottom);
    for (std::size_t bin = 0; bin < kBins; ++bin)
        outline +=
            "V" + place_text(y(counts[bin])) + "H" + place_text(kBarsRight * static_cast<double>(bin + 1) / kBins);
    outline += "V" + place_text(kBarsBottom) + "Z";
    page.open("figure").open("figcaption");
    for (std::size_t begin = 0; begin < title.size();) {  // a line may end after each part of a variable's name
        const std::size_t end = std::min(title.find('/', begin), title.size() - 1) + 1;
        page.text(title.substr(begin, end - begin)).empty("wbr");
        begin = end;
    }
    page.close();
    page.open("svg", {{"viewBox", "0 0 160 64"}, {"role", "img"}, {"aria-label", title}});
    page.empty("path", {{"class", "fill c0"}, {"d", outline}});
    if (low < 0 && high > 0) {
        page.empty("line", {{"class", "axis"},
                            {"x1", place_text(x(0))},
                            {"x2", place_text(x(0))},
                            {"y1", place_text(kBarsTop)},
                            {"y2", place_text(kBarsBottom)}});
    }
    page.leaf("text", formatted("%.2g", low), {{"x", "0"}, {"y", place_text(kBelow)}});
    page.leaf("text", formatted("%.2g", high),
              {{"x", place_text(kBarsRight)}, {"y", place_text(kBelow)}, {"text-anchor", "end"}});
    page.close().leaf("p", detail, {{"class", "soft"}}).close();
}

void draw_pipeline(Html& page, const schedule::Pipeline& pipeline, std::int64_t micro_batches) {
    constexpr std::int64_t kMostTicks = 64;
    const std::int64_t ticks = schedule::tick_count(pipeline, micro_batches);
    const std::int64_t shown = std::min(ticks, kMostTicks);
    page.open("figure", {{"class", "wide"}});
    page.leaf("figcaption",
              "Ticks of one weight update, " + std::string(spelling(pipeline.schedule)) +
                  " pipeline: F forward, B backward, with the number of the micro-batch" +
                  (shown < ticks ? "; the first " + std::to_string(shown) + " of " + std::to_string(ticks) : ""));
    page.open("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", "pipeline"}});
    page.open("table", {{"class", "ticks"}}).open("tbody");
    for (std::int32_t stage = 0; stage < pipeline.stages; ++stage) {
        page.open("tr").leaf("th", "stage " + std::to_string(stage), {{"scope", "row"}});
        for (std::int64_t tick = 0; tick < shown; ++tick) {
            std::string text;
            bool forward = false;
            bool backward = false;
            for (const schedule::StageWork& work : schedule::work_at(pipeline, micro_batches, tick)) {
                if (work.stage != stage) continue;
                text += (text.empty() ? "" : " ") + cell_text(work);
                (work.backward ? backward : forward) = true;
            }
            const char* const kind = forward && backward ? "both" : backward ? "backward" : forward ? "forward" : "";
            page.leaf("td", text, {{"class", kind}});
        }
        page.close();
    }
    page.close().close().close().close();
}

namespace {

constexpr double kLinesWidth = 400, kLinesHeight = 230;
constexpr double kLinesLeft = 52, kLinesRight = 392, kLinesTop = 10, kLinesBottom = 198;
constexpr std::size_t kMostPoints = 400;

/// Runs of neighbouring points are replaced by their means, so that at most kMostPoints are left. Points that are no
/// numbers are left out.
Curve thinned(const Curve& all) {
    Curve curve;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!std::isfinite(all.y[i]) || !std::isfinite(all.x[i])) continue;
        curve.x.push_back(all.x[i]);
        curve.y.push_back(all.y[i]);
    }
    const std::size_t each = (curve.size() + kMostPoints - 1) / kMostPoints;
    if (each <= 1) return curve;
    Curve result;
    for (std::size_t begin = 0; begin < curve.size(); begin += each) {
        const std::size_t end = std::min(begin + each, curve.size());
        double x = 0;
        double y = 0;
        for (std::size_t i = begin; i < end; ++i) {
            x += curve.x[i] / static_cast<double>(end - begin);
            y += curve.y[i] / static_cast<double>(end - begin);
        }
        result.x.push_back(x);
        result.y.push_back(y);
    }
    return result;
}

struct Extent {
    double low = INFINITY, high = -INFINITY;

    void add(const std::vector<double>& values) {
        for (const double value : values) {
            low = std::min(low, value);
            high = std::max(high, value);
        }
    }
    /// Adds room above and below; the range is never empty then.
    void widen() {
        const double room = high > low ? 0.05 * (high - low) : std::max(1e-6, 0.05 * std::fabs(high));
        low = low >= 0 && low - room < 0 ? 0 : low - room;
        high += room;
    }
};

std::string joined_numbers(const std::vector<double>& values) {
    std::string text;
    for (const double value : values)
        text += (text.empty() ? "" : " ") + formatted("%.5g", value);
    return text;
}

std::string points_text(const Curve& curve, const Scale& x, const Scale& y) {
    std::string text;
    for (std::size_t i = 0; i < curve.size(); ++i)
        text += (i == 0 ? "" : " ") + place_text(x(curve.x[i])) + "," + place_text(y(curve.y[i]));
    return text;
}

void draw_axes(Html& page, const ChartText& text, const Scale& x, const Scale& y) {
    for (const double value : round_numbers(y.low, y.high, 5)) {
        const std::string place = place_text(y(value));
        page.empty("line", {{"class", "rule"},
                            {"x1", place_text(kLinesLeft)},
                            {"x2", place_text(kLinesRight)},
                            {"y1", place},
                            {"y2", place}});
        page.leaf("text", axis_text(value),
                  {{"x", place_text(kLinesLeft - 6)}, {"y", place_text(y(value) + 4)}, {"text-anchor", "end"}});
    }
    for (const double value : round_numbers(x.low, x.high, 5)) {
        page.leaf("text", axis_text(value),
                  {{"x", place_text(x(value))}, {"y", place_text(kLinesBottom + 16)}, {"text-anchor", "middle"}});
    }
    page.leaf("text", text.x,
              {{"x", place_text(kLinesRight)}, {"y", place_text(kLinesHeight - 3)}, {"text-anchor", "end"}});
    page.empty("line", {{"class", "axis"},
                        {"x1", place_text(kLinesLeft)},
                        {"x2", place_text(kLinesRight)},
                        {"y1", place_text(kLinesBottom)},
                        {"y2", place_text(kLinesBottom)}});
}

void draw_line(Html& page, const Line& line, const Curve& curve, const Scale& x, const Scale& y) {
    std::vector<Attribute> attributes = {{"class", formatted("line c%d", line.colour) + (line.dashed ? " dashed" : "")},
                                         {"points", points_text(curve, x, y)},
                                         {"data-name", line.name},
                                         {"data-x", joined_numbers(curve.x)},
                                         {"data-y", joined_numbers(curve.y)}};
    if (line.noisy) attributes.push_back({"data-noisy", "1"});
    page.empty("polyline", attributes);
    if (!line.dots && curve.size() > 1) return;
    constexpr std::size_t kMostDots = 60;
    for (std::size_t i = 0; i < curve.size() && curve.size() <= kMostDots; ++i) {
        page.empty("circle", {{"class", formatted("dot c%d", line.colour)},
                              {"cx", place_text(x(curve.x[i]))},
                              {"cy", place_text(y(curve.y[i]))},
                              {"r", "2.5"}});
    }
}

/// Each line's name and last value.
void draw_legend(Html& page, const ChartText& text, const std::vector<Line>& lines, const std::vector<Curve>& curves) {
    page.open("ul", {{"class", "legend"}});
    for (std::size_t i = 0; i < lines.size(); ++i) {
        page.open("li").open("svg", {{"class", "key"}, {"viewBox", "0 0 22 8"}, {"aria-hidden", "true"}});
        page.empty("line", {{"class", formatted("line c%d", lines[i].colour) + (lines[i].dashed ? " dashed" : "")},
                            {"x1", "0"},
                            {"x2", "22"},
                            {"y1", "4"},
                            {"y2", "4"}});
        page.close().text(lines[i].name + ": last " + number_text(curves[i].y.back()) + text.unit).close();
    }
    page.close();
}

}  // namespace

void draw_lines(Html& page, const ChartText& text, const std::vector<Line>& all) {
    std::vector<Line> lines;
    std::vector<Curve> curves;
    Extent extent_x;
    Extent extent_y;
    for (const Line& line : all) {
        Curve curve = thinned(line.curve);
        if (curve.empty()) continue;
        extent_x.add(curve.x);
        extent_y.add(curve.y);
        lines.push_back(line);
        curves.push_back(std::move(curve));
    }
    if (lines.empty()) return;
    if (extent_x.low == extent_x.high) extent_x.widen();
    extent_y.widen();
    const Scale x{extent_x.low, extent_x.high, kLinesLeft, kLinesRight};
    const Scale y{extent_y.low, extent_y.high, kLinesBottom, kLinesTop};
    page.open("figure", {{"class", "chart"}}).leaf("figcaption", text.title);
    page.open("svg", {{"viewBox", formatted("0 0 %.0f %.0f", kLinesWidth, kLinesHeight)},
                      {"role", "img"},
                      {"aria-label", text.title + " by " + text.x},
                      {"class", "lines"},
                      {"data-unit", text.unit},
                      {"data-axis", text.x},
                      {"data-scale", joined_numbers({x.low, x.high, x.from, x.to, y.low, y.high, y.from, y.to})}});
    draw_axes(page, text, x, y);
    for (std::size_t i = 0; i < lines.size(); ++i)
        draw_line(page, lines[i], curves[i], x, y);
    page.close();
    draw_legend(page, text, lines, curves);
    page.close();
}

}  // namespace cnntrain::report
